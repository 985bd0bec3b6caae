#include "report/audit_view.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "report/display.h"
#include "report/measured.h"
#include "report/roofline_output.h"
#include "report/system_view.h"
#include "report/traced_time_output.h"
#include "report/view_context.h"
#include "telemetry/run_facts.h"
#include "text/strings.h"
#include "text/time_zone.h"

// The audit in sentences: title, verdict, why and next. The tables come from report/view_tables.cc, the lists from
// report/view_lines.cc.
//
// Most readers see the first screen only. So the verdict states money and waste, "why" names the largest causes, and
// "next" is the one action with the best figure. Nothing is said for the sake of completeness here; the tables are
// complete.
//
// Sentences print rounded figures, and a reader adds them up. So every remainder ("the rest", "other waste") is
// computed from the printed figures and not from the exact ones.

namespace idleburn {
namespace {

// The top of a report fits one screen. The tables below hold the rest.
constexpr std::size_t kWhyLines = 3;
constexpr std::size_t kAlertLines = 6;
constexpr std::size_t kSlicesNamed = 3;

// "By GPU state, largest first: idle, held by a process $1.81 (22.6 %); ...; the rest $1.87 (23.4 %)." The slices and
// the rest are the whole bill, so a reader can check the sum. Slices of unpriced GPUs come last.
std::string LargestSlices(const ViewContext& c) {
  const std::vector<const BillSlice*> slices = SlicesLargestFirst(c);
  // One slice more is named if it would be all of the rest: "the rest" would be longer than its name.
  const std::size_t named = slices.size() == kSlicesNamed + 1 ? slices.size() : std::min(slices.size(), kSlicesNamed);
  std::string text;
  for (std::size_t i = 0; i < named; ++i) {
    text += fmt::format("{}{} {}", i > 0 ? "; " : "", slices[i]->name, c.Part(*slices[i]));
  }
  // Costs are added as exact and as shown. The shown cost of the rest must complete the total that the reader sees.
  BillSlice rest{"rest", "the rest", 0, Money(), 0, Money()};
  for (std::size_t i = named; i < slices.size(); ++i) {
    const auto add = [](Money a, const Money& b) { return Money::Nano(a.nano() + b.nano()); };
    rest.ns += slices[i]->ns;
    rest.shown_ns += slices[i]->shown_ns;
    rest.cost = add(*rest.cost, slices[i]->cost.value_or(Money()));
    rest.shown_cost = add(rest.shown_cost, slices[i]->shown_cost);
  }
  if (named < slices.size()) text += fmt::format("; {} {}", rest.name, c.Part(rest));
  return fmt::format("{}: {}.", slices.size() == 1 ? "All of it was" : "By GPU state, largest first", text);
}

// The first sentence of the report: what was paid, for what, and how much of it was waste. Cases without a figure say
// which step failed: no GPU, no counter, a single reading per GPU, or no valid reading.
std::string AuditVerdictText(const ViewContext& c) {
  if (c.report.traced_only) return TracedVerdict(c);
  const CostReport& cost = c.report.cost;
  const UsageCost& u = cost.whole;
  const std::string hours = c.GpuHours(u.window_ns);
  if (!c.report.live.no_gpu.empty()) return "No GPU was measured: " + c.report.live.no_gpu + ".";
  if (u.window_ns == 0) {
    return CountersOf(c.report).empty() ? "Nothing was measured: no GPU reported a counter of busy time."
                                        : "Nothing was measured: no GPU has two readings, so no time is covered.";
  }
  if (u.observed_ns == 0) {
    return c.priced
               ? fmt::format("You paid {} for {}; there is no data on what they did.", c.Cost(*u.total), PaidHours(c))
               : hours + " without any data on what they did.";
  }
  // A kernel that only spins looks busy. Where nobody read what tells it apart, the waste is a lower bound.
  const SpinView spin = SpinOf(c.report);
  const std::string_view least = spin.unknown_ns > 0 || spin.dim_ns > 0 ? "at least " : "";
  const std::string paid =
      c.priced ? fmt::format("You paid {} for {}", c.Cost(c.costs->total), PaidHours(c)) : "Of " + hours + ",";
  return fmt::format("{}{} {}{} was waste.", paid, c.priced ? ";" : "", least, c.Waste());
}

// The verdict with all large slices, for a report that has no bar of them.
std::string WithSlices(const ViewContext& c, const std::string& verdict) {
  const bool sliced = !c.report.traced_only && c.report.live.no_gpu.empty() && c.report.cost.whole.observed_ns > 0;
  return sliced ? verdict + " " + LargestSlices(c) : verdict;
}

// Readings outside the valid range, if they are the reason that nothing was observed. A wrong unit then explains the
// empty report, and recording again would not help. 0 in any other case.
std::int64_t RefusedReadings(const AuditReport& report) {
  const bool nothing = report.cost.whole.observed_ns == 0 && !report.traced_only && report.quality != nullptr;
  return nothing ? report.quality->CountOf(QualityId::kOutOfRange) : 0;
}

// "Other waste: $0.38, 4.8 % of the bill": the waste that the first `named` findings do not explain. Empty where they
// explain none of it, and where less than half a per cent is left.
std::string OtherWaste(const ViewContext& c, std::size_t named) {
  const auto less = [](std::optional<Money>& whole, const std::optional<Money>& part) {
    if (whole && part) whole = Money::Nano(whole->nano() - part->nano());
  };
  const UsageCost& u = c.report.cost.whole;
  const std::int64_t all_ns = WasteNs(u);
  Finding other;
  other.waste_ns = all_ns;
  other.cost = u.waste;
  // The remainder is computed twice, exact and as shown, so that the printed lines add up to the printed waste.
  std::optional<Money> shown = c.costs ? std::optional(c.costs->waste) : std::nullopt;
  for (std::size_t i = 0; i < named; ++i) {
    other.waste_ns -= c.report.advice.findings[i].waste_ns;
    less(other.cost, c.report.advice.findings[i].cost);
    less(shown, c.finding_costs[i]);
  }
  if (other.waste_ns == all_ns || ShareOf(other.waste_ns, u.window_ns) < kWorthSaying) return {};
  return fmt::format("Other waste: {}", c.Part(other, shown));
}

// The first findings with their cost and how sure they are. An unexplained loss has no certainty to print. A finding
// without GPU time, such as missing data, prints its first evidence instead.
std::vector<std::string> Why(const ViewContext& c) {
  std::vector<std::string> lines;
  const std::vector<Finding>& findings = c.report.advice.findings;
  for (std::size_t i = 0; i < std::min(findings.size(), kWhyLines); ++i) {
    const Finding& f = findings[i];
    std::string line = f.title.empty() ? std::string(f.cause) : f.title;
    if (f.gpu_ns > 0) line += ": " + c.Part(i);
    if (f.status != Status::kUnknown) line += fmt::format(" ({})", Name(f.status));
    if (f.gpu_ns == 0 && !f.evidence.empty()) line += ": " + f.evidence.front();
    lines.push_back(std::move(line));
  }
  if (const std::string other = OtherWaste(c, lines.size()); !other.empty()) lines.push_back(other);
  if (const std::int64_t refused = RefusedReadings(c.report); refused > 0) {
    lines.push_back(
        fmt::format("{} what the unit allows: is the unit right?",
                    refused == 1 ? "1 reading lies outside" : fmt::format("{} readings lie outside", refused)));
  }
  return lines;
}

// The alerts of a watched run. Of many, the last ones: they tell how the run ended.
std::vector<std::string> AlertLines(const std::vector<Note>& alerts) {
  std::vector<std::string> lines;
  // The JSON report has all of them.
  const std::size_t first = alerts.size() > kAlertLines ? alerts.size() - kAlertLines : 0;
  if (first > 0) lines.push_back(fmt::format("{} earlier alerts are in the JSON report", first));
  for (std::size_t i = first; i < alerts.size(); ++i) {
    const std::string_view kind = alerts[i].kind == NoteKind::kAlert ? "alert" : "done";
    lines.push_back(fmt::format("{} {}: {}", kind, FormatRfc3339(alerts[i].time).substr(11, 8), alerts[i].text));
  }
  return lines;
}

// The first measurement that a finding asks for, or an empty string.
std::string NextMeasurement(const Advice& advice) {
  const auto found =
      std::find_if(advice.findings.begin(), advice.findings.end(), [](const Finding& f) { return !f.isolate.empty(); });
  return found == advice.findings.end() ? std::string() : "measure: " + found->isolate;
}

// What to do first. The order is: a saving with a figure; without one, the measurement that would give one; only then
// a measure that may help. A healthy run is told so, because a made-up task would cost the reader's trust.
std::vector<std::string> Next(const ViewContext& c) {
  std::vector<std::string> lines;
  const auto& all = c.report.advice.recommendations;
  // A wrong unit makes every other measurement useless, so it is checked first.
  const std::string measure = RefusedReadings(c.report) > 0
                                  ? "check the unit of the readings; for a table set it with --columns util=NAME:ratio"
                                  : NextMeasurement(c.report.advice);
  const auto& tries = c.report.advice.try_first;
  const bool healthy = c.report.advice.findings.size() == 1 && c.report.advice.findings.front().cause == "healthy";
  if (healthy && (all.empty() || !all.front().saving)) {
    lines.emplace_back(tries.empty()
                           ? "nothing to fix here; only a lower price per GPU-hour saves more"
                           : "nothing to fix here; only cheaper work or a lower price per GPU-hour saves more");
  } else if (!all.empty() && (all.front().saving || measure.empty())) {
    const Recommendation& r = all.front();
    lines.push_back(fmt::format("{}: {}{}", r.title, r.saving ? "saves about " : "", SavingText(c, r)));
    if (!r.how.empty()) lines.push_back(fmt::format("how: {}", r.how));
  } else if (!measure.empty()) {
    lines.push_back(measure);
  }
  if (!tries.empty() && (all.empty() || !all.front().saving)) {
    lines.push_back(fmt::format("try first (not proved): {}: {}; {}", tries.front().title, RangeText(c, tries.front()),
                                tries.front().how));
  }
  if (!c.priced && !c.report.cost.rate.per_gpu_hour && c.report.live.no_gpu.empty())
    lines.push_back(PriceHint(c, false));
  return lines;
}

// What the report is about: number and model of the GPUs, and the window. Captures that are not joined are counted as
// captures, with the reason, since "8 GPUs" would claim one job.
std::string AuditTitle(const AuditReport& r) {
  if (r.traced_only && r.run.devices.empty()) return ListText(r.inputs, "; ");
  if (!r.live.no_gpu.empty()) return "no GPU";
  const std::vector<std::string> names = GpuNames(r);
  std::string title = GpuCount(r.cost.gpus, r.cost.others);
  if (const std::size_t captures = CapturesApart(r); captures > 0) title = fmt::format("{} captures", captures);
  if (names.size() == 1) title += " (" + names.front() + ")";
  if (names.size() > 1) title += fmt::format(" ({} and other kinds)", names.front());
  if (CapturesApart(r) > 0) return title + ", not joined: " + r.trace->apart;
  if (r.traced_only && !IsDated(r.run.start)) return title + ", a trace without dates";
  return title + ", " + WindowText(r.run);
}

// The view of a live run without a usable GPU: why, how the command ended, and where to look. It has no figures,
// because a table of zeros would look like a measurement.
AuditView ViewOfNoGpu(const ViewContext& c) {
  AuditView view;
  view.title = TitleAndIds(AuditTitle(c.report), c.report.ids);
  view.headline = AuditVerdictText(c);
  view.verdict = view.headline;
  if (!c.report.live.exit.empty()) view.why.push_back("the command ended with " + c.report.live.exit);
  view.next.emplace_back("idleburn doctor shows what can be measured here");
  view.quality = QualityTable(c);
  return view;
}

}  // namespace

AuditView ViewOf(const AuditReport& report, const ViewLimits& limits) {
  const ViewContext c(report);
  if (!report.live.no_gpu.empty()) return ViewOfNoGpu(c);
  AuditView view;
  view.title = TitleAndIds(AuditTitle(report), report.ids);
  view.headline = AuditVerdictText(c);
  view.verdict = WithSlices(c, view.headline);
  view.why = Why(c);
  const std::vector<std::string> alerts = AlertLines(report.live.alerts);
  view.why.insert(view.why.end(), alerts.begin(), alerts.end());
  view.next = Next(c);
  view.runs_line = RunsLine(c);
  view.runs = RunTable(c);
  view.phases = PhaseTable(c);
  view.gpus = GpuTable(c, limits.gpus);
  view.rates = RateTable(c);
  view.owners = OwnerTable(c);
  view.measured = MeasuredTable(report);
  view.trace = TraceTable(c);
  view.idle = IdleTable(c);
  view.traced_time = TracedTimeTables(c);
  view.traced_time.push_back(RooflineTable(c));
  view.findings = FindingTable(c);
  view.recommendations = RecommendationTable(c);
  view.try_first = TryFirstTable(c);
  view.declined = DeclinedTable(c);
  view.quality = QualityTable(c);
  view.money = MoneyLines(c);
  view.signals = SignalLines(c);
  view.system = SystemLines(report);
  view.basis = BasisLines(c);
  return view;
}

}  // namespace idleburn
