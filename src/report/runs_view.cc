#include <fmt/format.h>

#include <algorithm>

#include "report/display.h"
#include "report/view_context.h"
#include "text/number.h"
#include "text/time_zone.h"

// The runs of one log and how much of its time was billed. Time between runs is not billed, so a sentence says how
// much it is: a reader whose machines were rented throughout must use --window.
namespace idleburn {
namespace {

constexpr std::size_t kShownRuns = 24;

// "26.0 h"; "7 days" from 48 hours on.
std::string SpanText(std::int64_t ns) {
  const double hours = InHours(ns);
  return hours < 48 ? fmt::format("{:.1f} h", hours) : fmt::format("{:.3g} days", hours / 24);
}

// "12.0 GPU-hours, $24.00"; without the amount if there is no price.
std::string BillOf(const ViewContext& c, std::int64_t ns, const std::optional<Money>& cost) {
  const std::string hours = c.Hours(ns) + " GPU-hours";
  return c.in_money && cost ? hours + ", " + c.Cost(*cost) : hours;
}

}  // namespace

// A named window takes precedence over a recording, because the user asked for it.
BilledBy BilledByOf(const AuditReport& report) {
  if (report.traced_only) return BilledBy::kTrace;
  if (report.run.window_named) return BilledBy::kWindow;
  return report.live.window.start ? BilledBy::kRecording : BilledBy::kRows;
}

std::string_view Name(BilledBy by) {
  switch (by) {
    case BilledBy::kRows:
      return "rows";
    case BilledBy::kWindow:
      return "window";
    case BilledBy::kRecording:
      return "recording";
    case BilledBy::kTrace:
      return "trace";
  }
  return {};
}

RecordedTime RecordedTimeOf(const AuditReport& report) {
  RecordedTime time;
  time.recorded_ns = report.run.RecordedNs(report.run.start, report.run.end);
  time.between_ns = (report.run.end - report.run.start).count() - time.recorded_ns;
  return time;
}

std::optional<OwnedPart> OwnedPartOf(const CostReport& cost) {
  if (cost.owners.empty()) return std::nullopt;
  OwnedPart part;
  for (const CostReport::OwnerCost& owner : cost.owners) {
    // Time without an owner, and slices that no instance has, are no owner's lifetime.
    if (owner.owner.empty() || owner.owner == "unallocated") continue;
    part.gpu_ns += owner.gpu_ns;
    if (owner.cost) part.cost = Money::Nano(part.cost.value_or(Money()).nano() + owner.cost->nano());
  }
  return part;
}

std::vector<Money> ShownRunCosts(const AuditReport& report, const std::optional<CostColumn>& whole) {
  std::vector<Money> exact;
  for (const CostReport::RunCost& run : report.cost.runs) exact.push_back(run.usage.Total().value_or(Money()));
  return whole ? RoundedTo(whole->total, exact, MinorUnit(report.cost.rate.currency)) : exact;
}

std::string RunsLine(const ViewContext& c) {
  const std::vector<RunSpan>& runs = c.report.run.runs;
  if (runs.size() < 2) return {};
  const RecordedTime time = RecordedTimeOf(c.report);
  return fmt::format(
      "{} runs in {}, {:.1f} h recorded, {:.1f} h between them not billed; --window START..END bills what it names, "
      "gaps as unobserved",
      runs.size(), SpanText(time.recorded_ns + time.between_ns), InHours(time.recorded_ns), InHours(time.between_ns));
}

ReportTable RunTable(const ViewContext& c) {
  const std::vector<CostReport::RunCost>& runs = c.report.cost.runs;
  ReportTable table;
  if (runs.size() < 2) return table;
  table.title = "Runs";
  table.columns = {{"From", kLeft},    {"to", kLeft},         {"GPUs", kRight},
                   {"busy %", kRight}, {"GPU-hours", kRight}, {"unobs. h", kRight}};
  if (c.in_money) table.columns.push_back({"Cost", kRight});
  std::vector<std::int64_t> windows;
  std::vector<std::int64_t> unobserved;
  for (const CostReport::RunCost& run : runs) {
    windows.push_back(run.usage.WindowNs());
    unobserved.push_back(run.usage.ns[kPhaseCount]);
  }
  windows = RoundedTimesTo(c.hours.total, windows, c.HourUnit());
  unobserved = RoundedTimesTo(c.hours.unobserved, unobserved, c.HourUnit());
  const std::vector<Money> costs = ShownRunCosts(c.report, c.costs);
  // A log without dates shows seconds since its start.
  const bool dated = IsDated(c.report.run.start);
  const auto at = [&](Instant t) {
    return dated ? FormatRfc3339(t) : fmt::format("{:g} s", InSeconds(t - c.report.run.start));
  };
  for (std::size_t i = 0; i < std::min(runs.size(), kShownRuns); ++i) {
    const CostReport::RunCost& run = runs[i];
    TableRow row = {
        at(run.span.start),       at(run.span.end),
        std::to_string(run.gpus), run.mean_utilization ? fmt::format("{:.1f}", *run.mean_utilization) : "n/a",
        c.Hours(windows[i]),      c.Hours(unobserved[i])};
    if (c.in_money) row.push_back(run.usage.Total() ? c.Cost(costs[i]) : "?");
    table.rows.push_back(std::move(row));
  }
  if (runs.size() > kShownRuns) {
    table.notes.push_back(
        fmt::format("The first {} of {} runs: --format json or csv has all.", kShownRuns, runs.size()));
  }
  table.notes.emplace_back(
      "A run ends where every GPU is silent for more than an hour and more than 100 periods. If the machines were paid "
      "for in between, name the time with --window.");
  return table;
}

std::vector<std::string> BilledLines(const ViewContext& c) {
  const AuditReport& r = c.report;
  if (r.run.devices.empty()) return {};
  std::vector<std::string> lines;
  switch (BilledByOf(r)) {
    case BilledBy::kRows:
      lines.push_back(r.run.runs.size() > 1
                          ? "Billed: each run by itself, each GPU from its first row of a run to its last."
                          : "Billed: each GPU from its first row to its last.");
      break;
    case BilledBy::kWindow:
      lines.emplace_back("Billed: all of --window, for every GPU with a row in it; time without a row is unobserved.");
      break;
    case BilledBy::kRecording:
      lines.emplace_back("Billed: from the start of the recording to its end.");
      break;
    case BilledBy::kTrace:
      return {};
  }
  if (const std::optional<OwnedPart> owned = OwnedPartOf(r.cost)) {
    lines.push_back(fmt::format("This bill ({}) is {}; the lifetimes of the named owners alone are {}.",
                                Name(BilledByOf(r)), BillOf(c, r.cost.whole.window_ns, r.cost.whole.total),
                                BillOf(c, owned->gpu_ns, owned->cost)));
  }
  return lines;
}

}  // namespace idleburn
