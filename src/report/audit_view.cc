#include "report/audit_view.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "report/display.h"
#include "report/system_view.h"
#include "report/trace_tables.h"
#include "report/view_context.h"
#include "text/share.h"
#include "text/time_zone.h"

namespace idleburn {
namespace {

constexpr std::size_t kWhyLines = 3;
constexpr std::size_t kAlertLines = 6;
constexpr std::size_t kLossesNamed = 2;

// The largest losses that have a name, in words.
std::string Losses(const ViewContext& c) {
  const UsageCost& u = c.report.cost.whole;
  struct Loss {
    std::int64_t ns;
    std::optional<Money> cost;
    std::string words;
  };
  // Idle is a band of utilization: what little was done in it is in the work too, so the band is named.
  const std::string idle = fmt::format("burned idle (below {} % busy) ", InPercent(c.report.thresholds.idle_below));
  std::vector<Loss> losses = {
      {u.idle_held_ns, u.idle_held_cost, idle + "while a process held the GPU"},
      {u.idle_empty_ns, u.idle_empty_cost, idle + "on GPUs that no process used"},
      {u.spin_wait_ns, u.spin_wait_cost, "went to kernels that sat on the GPU without work (spin-wait)"},
      {u.unobserved_ns, u.unobserved_cost, "went unobserved: nobody knows what it did"},
      {u.unallocated_ns, u.unallocated_cost, "went to MIG slices that no measured instance has"},
  };
  std::stable_sort(losses.begin(), losses.end(), [](const Loss& a, const Loss& b) { return a.ns > b.ns; });
  std::string text;
  losses.resize(kLossesNamed);
  for (const Loss& loss : losses) {
    const double share = ShareOf(loss.ns, u.window_ns);
    if (share < kWorthSaying) break;
    const double of_bill = c.by_rate && loss.cost ? ShareOf(loss.cost->nano(), u.total->nano()) : share;
    text += fmt::format(" {} ({}) {}.", c.Worth(loss.cost, loss.ns), RoundPercent(of_bill), loss.words);
  }
  return text;
}

std::string Verdict(const ViewContext& c) {
  if (c.report.traced_only) return TracedVerdict(c);
  const CostReport& cost = c.report.cost;
  const UsageCost& u = cost.whole;
  const std::string hours = c.Hours(u.window_ns);
  if (!c.report.live.no_gpu.empty()) return "No GPU was measured: " + c.report.live.no_gpu + ".";
  if (u.window_ns == 0) {
    return CountersOf(c.report).empty() ? "Nothing was measured: no GPU reported a counter of busy time."
                                        : "Nothing was measured: no GPU has two readings, so no time is covered.";
  }
  if (u.observed_ns == 0) {
    return c.priced ? fmt::format("You paid {} for {}; none of it was observed, so nobody knows what it did.",
                                  c.Cost(*u.total), PaidHours(c))
                    : fmt::format("None of {} GPU-hours was observed, so nobody knows what they did.", hours);
  }
  const auto useful_ns = static_cast<std::int64_t>(std::llround(u.effective_ns - u.spin_effective_ns));
  const double share = ShareOf(useful_ns, u.window_ns);
  std::string text;
  if (c.priced) {
    const Money lost = Money::Nano(u.waste.value_or(Money()).nano() + u.unobserved_cost.value_or(Money()).nano() +
                                   u.unallocated_cost.value_or(Money()).nano());
    const Money useful = Money::Nano(u.total->nano() - lost.nano());
    text = fmt::format("You paid {} for {}; {} of it ({}) did work.", c.Cost(*u.total), PaidHours(c), c.Cost(useful),
                       RoundPercent(c.by_rate ? ShareOf(useful.nano(), u.total->nano()) : share));
  } else {
    text = fmt::format("Of {} GPU-hours {} ({}) did work.", hours, c.Hours(useful_ns), RoundPercent(share));
  }
  return text + Losses(c);
}

std::vector<std::string> Why(const ViewContext& c) {
  std::vector<std::string> lines;
  for (const Finding& f : c.report.advice.findings) {
    if (lines.size() == kWhyLines) break;
    std::string line = f.title.empty() ? std::string(f.cause) : f.title;
    if (f.gpu_ns > 0) {
      line += fmt::format(": {} of {}, {}", PercentText(f.share), c.WholeOf(f), c.Worth(f.cost, f.gpu_ns));
    }
    if (f.status != Status::kUnknown) line += fmt::format(" ({})", Name(f.status));
    if (f.gpu_ns == 0 && !f.evidence.empty()) line += ": " + f.evidence.front();
    lines.push_back(std::move(line));
  }
  return lines;
}

// What the run was watched for and went beyond; the last of many, as they tell how it ended.
std::vector<std::string> AlertLines(const std::vector<Note>& alerts) {
  std::vector<std::string> lines;
  const std::size_t first = alerts.size() > kAlertLines ? alerts.size() - kAlertLines : 0;
  if (first > 0) lines.push_back(fmt::format("{} earlier alerts are in the JSON report", first));
  for (std::size_t i = first; i < alerts.size(); ++i) {
    const std::string_view kind = alerts[i].kind == NoteKind::kAlert ? "alert" : "done";
    lines.push_back(fmt::format("{} {}: {}", kind, FormatRfc3339(alerts[i].time).substr(11, 8), alerts[i].text));
  }
  return lines;
}

// The first measurement that a finding asks for; empty if none does.
std::string NextMeasurement(const Advice& advice) {
  const auto found =
      std::find_if(advice.findings.begin(), advice.findings.end(), [](const Finding& f) { return !f.isolate.empty(); });
  return found == advice.findings.end() ? std::string() : "measure: " + found->isolate;
}

// The largest saving that has a figure; without one the next measurement, and only then what might help.
std::vector<std::string> Next(const ViewContext& c) {
  std::vector<std::string> lines;
  const auto& all = c.report.advice.recommendations;
  const std::string measure = NextMeasurement(c.report.advice);
  const bool healthy = c.report.advice.findings.size() == 1 && c.report.advice.findings.front().cause == "healthy";
  if (healthy && (all.empty() || !all.front().saving)) {
    lines.emplace_back("nothing to fix here; what is left is the price of an hour");
  } else if (!all.empty() && (all.front().saving || measure.empty())) {
    const Recommendation& r = all.front();
    lines.push_back(fmt::format("{}: {}{}", r.title, r.saving ? "saves about " : "", SavingText(c, r)));
    if (!r.how.empty()) lines.push_back(fmt::format("do: {}", r.how));
  } else if (!measure.empty()) {
    lines.push_back(measure);
  }
  if (!c.priced && !c.report.cost.rate.per_gpu_hour && c.report.live.no_gpu.empty()) lines.push_back(PriceHint(c));
  return lines;
}

std::string Title(const AuditReport& r) {
  if (r.traced_only && r.run.devices.empty()) return Joined(r.inputs);
  if (!r.live.no_gpu.empty()) return "no GPU";
  const std::vector<std::string> names = GpuNames(r);
  std::string title = GpuCount(r.cost.gpus, r.cost.others);
  if (names.size() == 1) title += " (" + names.front() + ")";
  if (names.size() > 1) title += fmt::format(" ({} and other kinds)", names.front());
  // What begins at 0 has no date; its length says all there is.
  if (r.traced_only && r.run.start.nanos() == 0) return title + ", a trace without dates";
  return title + fmt::format(", {} to {}", FormatRfc3339(r.run.start), FormatRfc3339(r.run.end));
}

// Without a GPU there are no figures, and a table of zeros would look like some.
AuditView ViewOfNoGpu(const ViewContext& c) {
  AuditView view;
  view.title = Title(c.report);
  view.verdict = Verdict(c);
  if (!c.report.live.exit.empty()) view.why.push_back("the command ended with " + c.report.live.exit);
  view.next.emplace_back("idleburn doctor says what can be measured here");
  view.quality = QualityTable(c);
  return view;
}

}  // namespace

AuditView ViewOf(const AuditReport& report, const ViewLimits& limits) {
  const ViewContext c(report);
  if (!report.live.no_gpu.empty()) return ViewOfNoGpu(c);
  AuditView view;
  view.title = Title(report);
  view.verdict = Verdict(c);
  view.why = Why(c);
  const std::vector<std::string> alerts = AlertLines(report.live.alerts);
  view.why.insert(view.why.end(), alerts.begin(), alerts.end());
  view.next = Next(c);
  view.phases = PhaseTable(c);
  view.gpus = GpuTable(c, limits.gpus);
  view.rates = RateTable(c);
  view.owners = OwnerTable(c);
  view.trace = TraceTable(c);
  view.idle = IdleTable(c);
  view.findings = FindingTable(c);
  view.recommendations = RecommendationTable(c);
  view.declined = DeclinedTable(c);
  view.quality = QualityTable(c);
  view.money = MoneyLines(c);
  view.signals = SignalLines(c);
  view.system = SystemLines(report);
  view.basis = BasisLines(c);
  return view;
}

}  // namespace idleburn
