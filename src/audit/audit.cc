#include "audit/audit.h"

#include <fmt/format.h>

#include <utility>

#include "audit/classify_run.h"
#include "audit/machine_facts.h"
#include "diagnose/findings.h"
#include "recommend/advice.h"
#include "telemetry/reading_times.h"
#include "telemetry/run_facts.h"
#include "terminal/output.h"
#include "text/number.h"

namespace idleburn {
namespace {

// A run with its money.
struct Priced {
  CostReport cost;
  std::vector<PeakFit> peak_fits;  // by model of GPU
};

std::vector<DeviceId> GpusOf(const RunInputs& run) {
  std::vector<DeviceId> gpus;
  for (const DeviceResult& d : run.run.devices) gpus.push_back(d.device);
  return gpus;
}

WorkDone AsWorkDone(const WorkCount& said) {
  WorkDone work;
  const auto put = [&](const char* unit, const std::optional<std::int64_t>& n) {
    if (n && *n > 0) work.units[unit] = *n * WorkDone::kOne;
  };
  put("samples", said[WorkUnit::kSample]);
  put("tokens", said[WorkUnit::kToken]);
  put("steps", said[WorkUnit::kStep]);
  put("epochs", said[WorkUnit::kEpoch]);
  return work;
}

// Tells the user when the currency they asked for is not the currency of the price.
void RemarkOnCurrency(const Settings::Value& asked, const std::vector<Rate>& used, RateCard& card) {
  if (asked.origin == "default") return;
  for (const Rate& rate : used) {
    if (!rate.per_gpu_hour || rate.currency == asked.text) continue;
    card.Remark(asked.origin + " " + asked.text + " is that of numbers given with --price, --owned and " +
                "--tariff; this price is in " + rate.currency);
    return;
  }
}

Result<RateCard> FindRates(RunInputs& run, const AuditPlan& plan, const RateBook& book) {
  const std::vector<DeviceId> gpus = GpusOf(run);
  std::optional<RunSpan> span;
  if (IsDated(run.run.start)) span = {run.run.start, run.run.end};
  RateCard card = TRY(RatesOf(book, run.devices, gpus, span));
  CountStale(card, book.now, run.quality);
  RemarkOnCurrency(plan.currency, card.Used(gpus), card);
  return card;
}

Result<CostReport> CostOf(RunInputs& run, const AuditPlan& plan, const RateCard& rates) {
  if (run.run.devices.empty()) {
    CostReport nothing;
    nothing.rate = rates.rates().front();
    nothing.rate.reason = "nothing_measured";
    return nothing;
  }
  Result<CostReport> cost =
      PriceRun(run.run, run.devices, run.owners, rates, WorkOf(plan, run), plan.energy, plan.month_hours);
  const std::vector<Rate> used = rates.Used(GpusOf(run));
  if (!cost && used.size() == 1 && used.front().per_gpu_hour) {
    return Fail(used.front().source + ": " + cost.error().message);
  }
  return cost;
}

Result<Priced> RatesAndCost(RunInputs& run, const AuditPlan& plan) {
  RateQuestion question = QuestionOf(run.summary.facts());
  question.live = plan.request.live || run.run.devices.empty();
  const RateBook book = plan.prices.For(question);
  run.quality.Merge(plan.prices.doubts);
  const RateCard rates = TRY(FindRates(run, plan, book));
  Priced priced;
  priced.cost = TRY(CostOf(run, plan, rates));
  priced.cost.spot_discount = plan.spot_discount;
  priced.peak_fits = PeakFits(run.run, run.devices, rates, book.catalogue);
  return priced;
}

// Facts about the machine, not about the run.
std::vector<RunFact> SystemOf(const RunSummary& summary) {
  std::vector<RunFact> facts;
  for (const auto& [key, value] : summary.facts()) {
    const bool machine =
        key == "driver" || key == "nvml" || key == "cuda" || key.starts_with("system.") || key.starts_with("gpu.");
    if (machine) facts.push_back({key, value});
  }
  return facts;
}

MachineView MachineOf(const RunInputs& run, const std::vector<LinkSpeed>& links) {
  MachineView machine;
  const HostTimeline& host = run.summary.host();
  machine.host = host.empty() ? nullptr : &host;
  if (const auto command = run.summary.facts().find("command"); command != run.summary.facts().end()) {
    machine.command = command->second;
  }
  for (const LinkSpeed& link : links) machine.link_speed.push_back(link.pcie);
  return machine;
}

// A link of fewer lanes than both of its ends have. (Its generation falls while a board is idle, which means nothing.)
void CountNarrowLinks(RunInputs& run, const CostReport& cost) {
  for (const CostReport::DeviceCost& d : cost.devices) {
    const auto lanes = [&](const char* fact) {
      return ParseInteger(FactIn(run.summary.facts(), "gpu." + run.devices[d.device].uuid + fact));
    };
    const std::optional<std::int64_t> now = lanes(".pcie_width");
    const std::optional<std::int64_t> most = lanes(".pcie_most_width");
    if (!now || !most || *now >= *most) continue;
    run.quality.CountNamed(QualityId::kNarrowLink,
                           fmt::format("{} PCIe x{} of x{}", DeviceLabel(run.devices, d.device), *now, *most));
  }
}

void CountFailedGpus(const RunFacts& facts, DataQuality& quality) {
  for (const auto& [key, why] : facts) {
    if (key.starts_with("gpus.failed.")) quality.CountNamed(QualityId::kGpusFailed, why);
  }
}

LiveRun LiveRunOf(const RunSummary& summary) {
  LiveRun live;
  live.command = FactIn(summary.facts(), "command");
  live.exit = FactIn(summary.facts(), "exit");
  live.window = summary.window();
  for (const auto& fact : summary.facts()) {
    if (fact.first.starts_with("sampler.")) live.sampler.insert(fact);
  }
  for (const Note& note : summary.notes()) {
    if (note.kind == NoteKind::kAlert || note.kind == NoteKind::kEnforced) live.alerts.push_back(note);
  }
  for (std::size_t scope = 0; scope < kHostScopeCount; ++scope) {
    live.host[scope] = summary.Use(static_cast<HostScope>(scope));
  }
  live.statistics = summary.statistics();
  return live;
}

}  // namespace

WorkDone WorkOf(const AuditPlan& plan, const RunInputs& run) {
  return plan.work.units.empty() ? AsWorkDone(run.summary.Work()) : plan.work;
}

// The steps of an audit. Each takes what the steps before it found.
namespace {

// Files without a GPU that counts are an error. A live run still has a host to report on.
Result<void> Classify(RunInputs& run, const AuditPlan& plan) {
  TRY(ClassifyRun(run));
  LeaveOutHidden(run, plan.request.all_gpus);
  if (!run.files || run.why_no_gpu.empty()) return {};
  return Fail(run.files->first + ": no GPU to audit: " + run.why_no_gpu);
}

Result<Priced> Price(RunInputs& run, const AuditPlan& plan) {
  Result<Priced> priced = RatesAndCost(run, plan);
  if (priced) return priced;
  for (const std::string& gate : UnjudgedGates(plan.gates, priced.error().message)) Say("--fail-on " + gate);
  return priced;
}

Scene SceneOf(const RunInputs& run, const Priced& priced, const std::vector<LinkSpeed>& links, const AuditPlan& plan) {
  const TraceDiagnosis* trace = run.trace ? &*run.trace : nullptr;
  return {run.run, run.devices, priced.cost, MachineOf(run, links), trace, run.traced_only, plan.thresholds};
}

AuditReport Report(RunInputs& run, Priced priced, Advice advice, std::vector<LinkSpeed> links, const AuditPlan& plan) {
  CountNarrowLinks(run, priced.cost);
  CountFailedGpus(run.summary.facts(), run.quality);
  AuditReport report;
  report.run = std::move(run.run);
  report.devices = &run.devices;
  report.quality = &run.quality;
  report.thresholds = plan.thresholds;
  report.cost = std::move(priced.cost);
  report.advice = std::move(advice);
  report.live = LiveRunOf(run.summary);
  if (report.run.devices.empty()) report.live.no_gpu = run.why_no_gpu;
  report.ids = IdsOf(run.summary.facts());
  report.links = std::move(links);
  report.peak_fits = std::move(priced.peak_fits);
  report.trace = std::move(run.trace);
  report.traced_only = run.traced_only;
  report.system = SystemOf(run.summary);
  report.timezone = plan.timezone;
  report.version = IDLEBURN_VERSION;
  report.explain = plan.request.explain;
  return report;
}

}  // namespace

Result<Audited> Audit(const ReadStep& read, const AuditPlan& plan) {
  std::shared_ptr<RunInputs> run = TRY(read());
  TRY(Classify(*run, plan));
  Priced priced = TRY(Price(*run, plan));
  std::vector<LinkSpeed> links = LinksOf(run->devices, run->summary.facts());
  Advice advice;
  if (!run->run.devices.empty() || run->trace) {
    const Scene scene = SceneOf(*run, priced, links, plan);
    advice = Advise(scene, Diagnose(scene), plan.shares);
  }
  AuditReport report = Report(*run, std::move(priced), std::move(advice), std::move(links), plan);
  return Audited{std::move(run), std::move(report)};
}

}  // namespace idleburn
