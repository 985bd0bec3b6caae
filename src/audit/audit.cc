#include "audit/audit.h"

#include <fmt/format.h>

#include <utility>

#include "audit/classify_run.h"
#include "diagnose/findings.h"
#include "recommend/advice.h"
#include "telemetry/link_speed.h"
#include "telemetry/reading_times.h"
#include "telemetry/run_facts.h"
#include "terminal/output.h"
#include "text/number.h"

// The steps of an audit, in their order. Each step is a function that takes the results of the steps before it. So a
// reader can follow one dollar from top to bottom, and every command gets the same figures.
//
// Rules for a new step after Read: it opens no file and reads no clock. A replay of a recording must repeat the live
// audit exactly.

namespace idleburn {
namespace {

// A run with its money.
struct Priced {
  CostReport cost;
  std::vector<PeakFit> peak_fits;  // by model of GPU
};

// The devices that count, in the order of the result. The table of devices also holds GPUs that were left out.
std::vector<DeviceId> GpusOf(const RunInputs& run) {
  std::vector<DeviceId> gpus;
  for (const DeviceResult& d : run.run.devices) gpus.push_back(d.device);
  return gpus;
}

// The work that a run reported, in the units of --work. A count of 0 is dropped: it would give an infinite cost per
// unit.
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

// Tells the user when the currency they asked for is not the currency of the price. Catalogue prices are in USD
// whatever --currency says. Converting them would need an exchange rate, and nobody gave one.
void RemarkOnCurrency(const Settings::Value& asked, const std::vector<Rate>& used, RateCard& card) {
  if (asked.origin == "default") return;
  for (const Rate& rate : used) {
    if (!rate.per_gpu_hour || rate.currency == asked.text) continue;
    card.Remark(asked.origin + " " + asked.text +
                " applies to numbers of --price, --owned and --tariff only; this price is in " + rate.currency);
    return;
  }
}

// The rate of each GPU. The span of the run selects the contracts that were in force; an undated log has no span. Stale
// prices and a surprising currency are noted here, because both need the GPUs to be known.
Result<RateCard> FindRates(RunInputs& run, const AuditPlan& plan, const RateBook& book) {
  const std::vector<DeviceId> gpus = GpusOf(run);
  std::optional<RunSpan> span;
  if (IsDated(run.run.start)) span = {run.run.start, run.run.end};
  RateCard card = TRY(RatesOf(book, run.devices, gpus, span));
  CountStale(card, book.now, run.quality);
  RemarkOnCurrency(plan.currency, card.Used(gpus), card);
  return card;
}

// The cost of the run. A run without GPUs has a report with the reason "nothing_measured" and no amount. If all GPUs
// share one price, an error names where that price came from.
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

// Finds the rates and prices the run. After a live run, a price that fits no GPU is a remark and not an error: the
// hours are spent, and their report must still be written.
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

// Facts about the machine, such as its driver. All other facts are about the run.
std::vector<RunFact> SystemOf(const RunSummary& summary) {
  std::vector<RunFact> facts;
  for (const auto& [key, value] : summary.facts()) {
    const bool machine =
        key == "driver" || key == "nvml" || key == "cuda" || key.starts_with("system.") || key.starts_with("gpu.");
    if (machine) facts.push_back({key, value});
  }
  return facts;
}

// What the diagnosis may know of the machine besides its GPUs. Logs hold no host readings and no command, so both may
// be missing.
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

// Counts PCIe links that use fewer lanes than the GPU and its slot support, for example "PCIe x4 of x16". Such a link
// slows every copy to the GPU. The generation is not compared: it falls whenever a board is idle.
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

// Counts GPUs that the driver found but could not open. Their cost is in no figure, so the report must name them.
void CountFailedGpus(const RunFacts& facts, DataQuality& quality) {
  for (const auto& [key, why] : facts) {
    if (key.starts_with("gpus.failed.")) quality.CountNamed(QualityId::kGpusFailed, why);
  }
}

// Collects what the report says of a live run besides its GPUs. Members stay empty for a log, which tells none of it.
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
  live.work = summary.Work();
  live.pace = summary.Pace();
  live.timeline = summary.host().empty() ? nullptr : &summary.host();
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

// Prices the run. If that fails, no gate can be judged. Each is then named with the reason, because a script that fails
// in CI should show which of its limits went unchecked.
Result<Priced> Price(RunInputs& run, const AuditPlan& plan) {
  Result<Priced> priced = RatesAndCost(run, plan);
  if (priced) return priced;
  for (const std::string& gate : UnjudgedGates(plan.gates, priced.error().message)) Say("--fail-on " + gate);
  return priced;
}

// Bundles what the diagnosis looks at. A Scene holds references, so all arguments must outlive it.
Scene SceneOf(const RunInputs& run, const Priced& priced, const std::vector<LinkSpeed>& links, const AuditPlan& plan) {
  const TraceDiagnosis* trace = run.trace ? &*run.trace : nullptr;
  return {run.run, run.devices, priced.cost, MachineOf(run, links), trace, run.traced_only, plan.thresholds};
}

// Fills the report. This must be the last step: it moves the results out of `run`.
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
  report.profiles = run.profiles;
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
