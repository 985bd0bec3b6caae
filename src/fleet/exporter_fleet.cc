#include "fleet/exporter_fleet.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>
#include <set>
#include <utility>

#include "audit/audit.h"
#include "audit/read_run.h"
#include "fleet/cluster_allocation.h"
#include "fleet/gauge_owners.h"
#include "fleet/gauge_samples.h"
#include "fleet/scheduler_facts.h"
#include "text/strings.h"
#include "text/time_zone.h"

// A fleet by its exporters' gauges, in four steps: which metrics the engine has, their samples as files, an audit of
// the files, and the audit's figures by owner.

namespace idleburn {
namespace {

constexpr std::string_view kJobPrefix = "job ";
constexpr std::string_view kPodPrefix = "pod ";

// What the report is made of.
struct GaugeAudit {
  GaugeSamples samples;
  Audited audited;
  std::map<DeviceId, HeldByOwner> held;
  JobTimes jobs;
  DataQuality of_jobs;
};

// --- reading

// The error of an audit of temporary files, with what a user knows in place of their names.
Error WithEngineName(Error error, const std::string& folder, const EngineFacts& engine) {
  std::string& text = error.message;
  for (std::size_t at = text.find(folder); at != std::string::npos; at = text.find(folder)) {
    const std::size_t end = text.find_first_of(":, ", at);
    text.replace(at, std::min(end, text.size()) - at, engine.url);
  }
  return error;
}

Result<GaugeAudit> AuditGauges(const ExporterQuestion& question, GaugeSamples samples, JobTimes jobs) {
  ImportOptions options = question.options;
  options.window.named = true;
  options.window.start = Instant::FromNanos(question.from * kNanosPerSecond);
  options.window.end = Instant::FromNanos(question.to * kNanosPerSecond);
  options.jobs = jobs;
  const auto read = [&] { return Read({samples.answers}, options, question.plan.thresholds); };
  Audited audited = TRY(Audit(read, question.plan));
  std::map<DeviceId, HeldByOwner> held =
      TRY(ClassifyHeld(samples, options, question.plan.thresholds, audited.run->devices));
  return GaugeAudit{std::move(samples), std::move(audited), std::move(held), std::move(jobs), {}};
}

// --- owners

void AddTime(const FleetTime& part, FleetTime* sum) {
  for (std::size_t p = 0; p < kFleetPhaseCount; ++p) sum->phases[p] += part.phases[p];
}

Result<void> AddAmount(const std::optional<Money>& part, std::optional<Money>* sum) {
  if (part) *sum = TRY(Add(sum->value_or(Money()), *part));
  return {};
}

// Owners under one heading: teams, users, jobs.
class OwnerTable {
 public:
  Result<void> Put(const std::string& name, const HeldPart& part, const FleetOwner& facts) {
    Row& row = rows_[name];
    row.owner.name = name;
    row.owner.team = facts.team;
    row.owner.user = facts.user;
    row.owner.experiment = facts.experiment;
    AddTime(part.time, &row.owner.time);
    TRY(AddAmount(part.cost.total, &row.owner.cost.total));
    TRY(AddAmount(part.cost.waste, &row.owner.cost.waste));
    TRY(AddAmount(part.cost.waste_high, &row.owner.cost.waste_high));
    row.busy_ms += part.busy_ms;
    named_ = named_ || !name.starts_with('_');
    return {};
  }
  // The owners with the most time first. Empty if there are only buckets.
  [[nodiscard]] std::vector<FleetOwner> Owners() const {
    std::vector<std::pair<std::int64_t, FleetOwner>> order;
    for (const auto& [name, row] : rows_) {
      const PhaseMs& phases = row.owner.time.phases;
      const std::int64_t all = std::accumulate(phases.begin(), phases.end(), std::int64_t{0});
      const std::int64_t observed = all - phases[kFleetUnobserved];
      FleetOwner owner = row.owner;
      if (observed > 0) owner.mean_utilization = row.busy_ms / static_cast<double>(observed);
      order.emplace_back(all, std::move(owner));
    }
    std::stable_sort(order.begin(), order.end(), [](const auto& a, const auto& b) { return a.first > b.first; });
    std::vector<FleetOwner> owners;
    for (auto& each : order) owners.push_back(std::move(each.second));
    return named_ ? owners : std::vector<FleetOwner>();
  }

 private:
  struct Row {
    FleetOwner owner;
    double busy_ms = 0;
  };
  std::map<std::string, Row> rows_;
  bool named_ = false;
};

// Who an owner of the audit is. The team of a pod is its label_team, else its namespace.
FleetOwner WhoIs(const std::string& owner, const JobTimes& jobs, const ClusterAllocation& allocation) {
  FleetOwner who;
  who.name = owner;
  if (owner.starts_with('_')) {
    who.team = who.user = who.experiment = owner;
    return who;
  }
  if (owner.starts_with(kJobPrefix)) {
    who.name = owner.substr(kJobPrefix.size());
    if (const JobTimes::Who* known = jobs.WhoRan(who.name)) {
      who.team = known->team;
      who.user = known->user;
      who.experiment = known->experiment;
    }
  } else if (owner.starts_with(kPodPrefix)) {
    who.name = owner.substr(kPodPrefix.size());
    who.team = allocation.TeamOf(who.name);
    const std::size_t slash = who.name.find('/');
    if (who.team.empty() && slash != std::string::npos) who.team = who.name.substr(0, slash);
  }
  return who;
}

// The bucket of a GPU's time without a named owner. Where labels name owners, a label that is absent says that there
// was none. On a node without such labels, there is no data.
class NamelessTime {
 public:
  NamelessTime(const RunInputs& run, const std::map<DeviceId, HeldByOwner>& held) : run_(run) {
    for (DeviceId id = 0; id < run.devices.size(); ++id) {
      const auto found = held.find(id);
      const bool named = found != held.end() && std::any_of(found->second.begin(), found->second.end(),
                                                            [](const auto& each) { return each.second.labelled; });
      if (named || !run.owners.SharesOf(id).empty()) hosts_.insert(run.devices[id].host);
    }
  }
  [[nodiscard]] const char* BucketOf(DeviceId id) const {
    return hosts_.count(run_.devices[id].host) > 0 ? kFleetUnallocated : kFleetUnknown;
  }
  [[nodiscard]] bool AnyOwner() const { return !hosts_.empty(); }

 private:
  const RunInputs& run_;
  std::set<std::string> hosts_;
};

std::string GpuNameOf(const Device& device) {
  std::string name = device.uuid;
  if (name.empty()) name = device.host + ":" + (device.index ? std::to_string(*device.index) : device.bus_id);
  return device.mig ? name + "/" + device.mig->id : name;
}

// Fills in GPUs, owners, times and costs.
Result<void> FillFigures(GaugeAudit& audit, const NamelessTime& nameless, const ClusterAllocation& allocation,
                         FleetReport* report) {
  const RunInputs& run = *audit.audited.run;
  const CostReport& cost = audit.audited.report.cost;
  OwnerTable teams;
  OwnerTable users;
  OwnerTable jobs;
  OwnerTable experiments;
  for (const CostReport::DeviceCost& d : cost.devices) {
    const Device& device = run.devices[d.device];
    const FleetTime time = GpuTimeOf(d.usage);
    if (device.has_instances && time.TotalMs() == 0) continue;  // all of its slices are counted as instances
    report->gpus.push_back(
        {GpuNameOf(device), device.host, device.name, time, {d.usage.total, d.usage.waste, d.usage.waste}});
    AddTime(time, &report->whole);
    HeldByOwner& held = audit.held[d.device];
    AddNamedElsewhere(run.owners.SharesOf(d.device), &held);
    const std::vector<HeldPart> parts = TRY(SplitByOwner(time, d.usage, held, nameless.BucketOf(d.device)));
    for (const HeldPart& part : parts) {
      const FleetOwner who = WhoIs(part.owner, audit.jobs, allocation);
      const auto known = [](const std::string& name) { return name.empty() ? std::string(kFleetUnknown) : name; };
      TRY(jobs.Put(who.name, part, who));
      TRY(teams.Put(known(who.team), part, {}));
      TRY(users.Put(known(who.user), part, {}));
      TRY(experiments.Put(known(who.experiment), part, {}));
      if (part.owner != kFleetUnallocated) continue;
      AddTime(part.time, &report->unallocated);
      TRY(AddAmount(part.cost.total, &report->unallocated_cost));
    }
  }
  report->jobs = jobs.Owners();
  report->teams = teams.Owners();
  report->users = users.Owners();
  report->experiments = experiments.Owners();
  report->cost = {cost.whole.total, cost.whole.waste, cost.whole.waste};
  report->currency = cost.rate.currency;
  if (cost.whole.total) report->rate_source = cost.several() ? "several rates" : cost.rate.source;
  return {};
}

// --- how far figures may be off

// Readings of one counter, over all its GPUs.
struct CounterReadings {
  std::vector<std::int64_t> intervals_s;
  std::int64_t samples = 0;
  double width_ns = 0;  // half widths x observed time
  double observed_ns = 0;
};

// The mean of the GPUs' half widths also bounds the mean of all GPUs: GPUs of one job do the same at the same time, so
// more of them do not narrow it.
std::vector<FleetError> ErrorsOf(const AuditReport& audit) {
  std::map<std::string, CounterReadings> counters;
  for (const DeviceResult& d : audit.run.devices) {
    if (!d.counter || !d.period) continue;
    const std::int64_t readings =
        std::accumulate(d.totals.ticks.begin(), d.totals.ticks.end(), std::int64_t{0}) / d.collection.scrapes;
    const Integral& utilization = d.totals.utilization;
    if (readings == 0 || utilization.ns == 0) continue;
    CounterReadings& counter = counters[(*audit.devices)[d.device].counter[Index(*d.counter)]];
    const Nanos interval = *d.period * d.collection.scrapes;
    counter.intervals_s.push_back((interval.count() + kNanosPerSecond / 2) / kNanosPerSecond);
    counter.samples += readings;
    const auto observed = static_cast<double>(utilization.ns);
    counter.width_ns += observed * GaugeHalfWidth(*utilization.Mean() / static_cast<double>(kFull), readings);
    counter.observed_ns += observed;
  }
  std::vector<FleetError> errors;
  for (auto& [name, counter] : counters) {
    std::vector<std::int64_t>& intervals = counter.intervals_s;
    std::nth_element(intervals.begin(), intervals.begin() + static_cast<std::ptrdiff_t>(intervals.size() / 2),
                     intervals.end());
    FleetError error;
    error.counter = name;
    error.interval_s = intervals[intervals.size() / 2];
    error.samples = counter.samples;
    error.half_width = counter.width_ns / counter.observed_ns;
    error.sentence = fmt::format(
        "{}: {} readings of {} {}, one every {} s; a mean utilization may be off by {:.2g} percentage points (95 %). "
        "This "
        "assumes no period near {} s.",
        name, error.samples, intervals.size(), intervals.size() == 1 ? "GPU" : "GPUs", error.interval_s,
        100 * error.half_width, error.interval_s);
    errors.push_back(std::move(error));
  }
  return errors;
}

// --- doubts

// The audit's doubts about its inputs. Range selectors give the scrapes themselves, so stamps on an even grid are no
// doubt, and neither is where in a temporary file something stood.
void AddQuality(const DataQuality& quality, std::vector<FleetDoubt>* doubts) {
  for (const QualityInfo& info : kQualityTable) {
    DataQuality::Row row = quality.Get(info.id);
    if (row.count == 0 || info.id == QualityId::kEvenGrid || info.id == QualityId::kInstantQuery) continue;
    row.first_place.clear();
    doubts->push_back({std::string(info.name), row.count, std::string(Name(info.severity)), Describe(info, row)});
  }
}

std::string MissingSentence(const std::vector<MissingGauge>& missing) {
  constexpr std::size_t kShown = 3;
  std::string text = "The engine refused parts of the window, even 5 minutes at a time: ";
  for (std::size_t i = 0; i < std::min(missing.size(), kShown); ++i) {
    const MissingGauge& part = missing[i];
    text +=
        (i == 0 ? "" : ", ") + part.metric + " from " + FormatUnixTime(part.from) + " to " + FormatUnixTime(part.to);
  }
  return text + (missing.size() > kShown ? fmt::format(", and {} more.", missing.size() - kShown) : ".");
}

// Metrics that tell allocation and that no importer reads.
constexpr const char* kUnreadAllocation = "slurm_.*(gpu|gres|alloc).*";

Result<void> AddAllocation(Engine& engine, const ExporterQuestion& question, bool any_owner, FleetReport* report) {
  if (any_owner || report->allocation) return {};
  std::string sentence = "No label names the job or pod of a GPU, so allocation is unknown.";
  if (!question.jobs_file.empty()) sentence += " The list of jobs alone does not tell which GPUs a job had.";
  const std::vector<std::string> unread = TRY(engine.MetricNames(kUnreadAllocation, question.from, question.to));
  if (!unread.empty()) sentence += " The engine has " + Printable(unread.front()) + ", which idleburn does not read.";
  report->doubts.push_back(
      {"allocation_unknown", static_cast<std::int64_t>(report->gpus.size()), "warn", std::move(sentence)});
  return {};
}

void AddDoubts(const GaugeAudit& audit, FleetReport* report) {
  const auto gpus = static_cast<std::int64_t>(report->gpus.size());
  report->doubts.push_back(
      {"gauges_only", gpus, "warn",
       "Gauges do not show time between scrapes, GPUs that were never scraped, idle-held memory, "
       "or spin-wait. Costs are "
       "estimates; idleburn agent counts exactly. Gauges do not tell why a job wastes, so no job is "
       "listed as a waster."});
  const std::vector<MissingGauge>& missing = audit.samples.missing;
  if (!missing.empty()) {
    report->doubts.push_back(
        {"engine_refused", static_cast<std::int64_t>(missing.size()), "error", MissingSentence(missing)});
  }
  const auto replicas = static_cast<std::int64_t>(audit.samples.replicas.size());
  if (replicas > 1) {
    report->doubts.push_back({"replicas", replicas, "info",
                              fmt::format("{} replicas of the engine wrote the same GPUs. Their samples count as one "
                                          "series; at equal times the larger value counts.",
                                          replicas)});
  }
  for (const std::string& remark : audit.audited.report.cost.price_remarks) {
    report->doubts.push_back({"price", 1, "info", remark});
  }
  AddQuality(audit.of_jobs, &report->doubts);
  AddQuality(audit.audited.run->quality, &report->doubts);
}

}  // namespace

double GaugeHalfWidth(double busy, std::int64_t samples) {
  if (samples <= 0) return 1;
  const double d = std::clamp(busy, 0.0, 1.0);
  return 1.96 * std::sqrt(d * (1 - d) / static_cast<double>(samples));
}

Result<FleetReport> ExporterFleet(Engine& engine, const ExporterQuestion& question) {
  CHECK(question.from < question.to);
  JobTimes jobs;
  DataQuality of_jobs;
  if (!question.jobs_file.empty()) jobs = TRY(ReadJobList(question.jobs_file, question.options, &of_jobs));
  const std::vector<std::string> metrics = TRY(GaugesIn(engine, question.from, question.to));
  const ClusterAllocation allocation = TRY(ClusterAllocation::Read(engine, question.from, question.to));
  GaugeSamples samples = TRY(ReadGauges(engine, {metrics, question.from, question.to, jobs, allocation}));
  const std::string folder = samples.folder.path();
  Result<GaugeAudit> audit = AuditGauges(question, std::move(samples), std::move(jobs));
  if (!audit) return tl::unexpected<Error>(WithEngineName(audit.error(), folder, engine.facts()));
  audit->of_jobs = of_jobs;

  FleetReport report;
  report.engine = engine.facts();
  report.from = question.from;
  report.to = question.to;
  report.exact = false;
  const NamelessTime nameless(*audit->audited.run, audit->held);
  TRY(FillFigures(*audit, nameless, allocation, &report));
  report.errors = ErrorsOf(audit->audited.report);
  allocation.AddTo(&report);
  TRY(AddAllocation(engine, question, nameless.AnyOwner(), &report));
  AddDoubts(*audit, &report);
  return report;
}

}  // namespace idleburn
