#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>

#include "base/result.h"
#include "diagnose/make_finding.h"
#include "report/audit_view.h"
#include "report/display.h"
#include "report/host_screen.h"
#include "report/ribbon.h"
#include "report/screen.h"
#include "report/view_context.h"
#include "report/write_audit.h"
#include "telemetry/run_facts.h"
#include "text/figures.h"
#include "text/strings.h"
#include "text/table.h"
#include "text/time_zone.h"

// One screen of an audit. The order is that of a reader's questions: how much, for what, why, what now, where, and how
// do you know. What does not fit is dropped by its importance (report/screen.h); no question loses all of its lines
// before the blank lines are gone.
namespace idleburn {
namespace {

constexpr std::size_t kScreenWhyLines = 4;  // three causes and the rest
constexpr std::size_t kNextLines = 4;       // a fix and how, a first try and how
constexpr std::size_t kGpuRows = 4;         // all, or the worst three and the rest
constexpr std::size_t kTraceRows = 4;
constexpr int kNarrowestName = 6;
constexpr int kScreenRibbonFrom = 16;  // narrower ribbons say nothing
constexpr int kRibbonColumns = 48;     // wider ones say no more

// How a slice of the bill is drawn, like the same time in a ribbon, and its name in a legend of few columns.
struct SliceLook {
  std::string_view id;
  Look look;
  std::string_view name;
};
constexpr auto kSliceLooks = std::to_array<SliceLook>({
    {"idle_held", Look::kIdleHeld, "idle, held"},
    {"idle_empty", Look::kIdleEmpty, "idle, empty"},
    {"idle_unknown", Look::kIdleEmpty, "idle, holder unknown"},
    {"idle", Look::kIdleEmpty, "idle"},
    {"underutilized", Look::kUnderutilized, "underutilized"},
    {"productive", Look::kProductive, "productive"},
    {"compute_bound", Look::kComputeBound, "compute-bound"},
    {"spin_wait", Look::kSpinWait, "spin-wait"},
    {"unobserved", Look::kUnobserved, "no data"},
    {"unallocated", Look::kUnobserved, "unallocated MIG slices"},
});

const SliceLook& LookOf(const BillSlice& slice) {
  const auto* found =
      std::find_if(kSliceLooks.begin(), kSliceLooks.end(), [&](const SliceLook& s) { return s.id == slice.id; });
  CHECK(found != kSliceLooks.end());
  return *found;
}

// The bar fills its width exactly: each slice ends where its share of the running sum ends, so a slice is off by half
// a column at most. Smaller slices may vanish; the legend has them.
void AddBar(const ViewContext& c, const std::vector<const BillSlice*>& slices, Screen* screen) {
  const int width = screen->columns() - 2;
  std::string bar = "  ";
  double sum = 0;
  int drawn = 0;
  for (const BillSlice* slice : slices) {
    sum += c.ShareOfBill(slice->cost, slice->ns);
    const int end = std::min(width, static_cast<int>(std::lround(sum * width)));
    std::string part;
    const LookInfo& look = Info(LookOf(*slice).look);
    for (; drawn < end; ++drawn) part += look.block;
    if (!part.empty()) bar += screen->Styled(part, fmt::format("38;5;{}", look.color));
  }
  screen->Raw(LineRank::kUseful, std::move(bar));
}

// What each part of the bar is, as many entries on a line as fit. An entry is never split.
void AddLegend(const ViewContext& c, const std::vector<const BillSlice*>& slices, Screen* screen) {
  std::string line;
  LineRank rank = LineRank::kNeeded;  // the first line names the largest slices
  for (const BillSlice* slice : slices) {
    const SliceLook& look = LookOf(*slice);
    std::string entry = fmt::format("{} {} {}", Info(look.look).block, look.name, c.Part(*slice));
    entry = Shortened(entry, screen->columns() - 2);
    if (!line.empty() && DisplayWidth(line) + 3 + DisplayWidth(entry) > screen->columns() - 2) {
      screen->Raw(rank, "  " + line);
      rank = LineRank::kUseful;
      line.clear();
    }
    line += (line.empty() ? "" : "   ") + entry;
  }
  if (!line.empty()) screen->Raw(rank, "  " + line);
}

// One row of the GPUs: a GPU, or several together.
struct GpuLine {
  std::string name;
  std::string busy;
  std::string power;
  std::string cost;
  std::string waste;
  const DeviceResult* ribbon = nullptr;  // null for several
};

std::string BusyText(double effective_ns, std::int64_t observed_ns) {
  return observed_ns == 0 ? "no data" : PercentText(effective_ns / static_cast<double>(observed_ns));
}

GpuLine LineOf(const ViewContext& c, const CostReport::DeviceCost& d, const std::optional<CostColumn>& cost) {
  const UsageCost& u = d.usage;
  GpuLine line;
  line.name = Printable(DeviceLabel(c.report, d.device));
  line.busy = BusyText(u.effective_ns, u.observed_ns);
  line.power = u.mean_power_w ? ThreeDigits(*u.mean_power_w) + " W" : "";
  line.cost = !c.in_money ? c.Hours(u.window_ns) + " h" : cost ? c.Cost(cost->total) : "?";
  line.waste = u.observed_ns == 0 ? "" : !c.in_money ? c.Hours(WasteNs(u)) + " h" : cost ? c.Cost(cost->waste) : "?";
  line.ribbon = ResultOf(c.report, d.device);
  return line;
}

// The GPUs that are not shown by themselves. Amounts are sums of printed amounts, so the column adds up.
GpuLine LineOfRest(const ViewContext& c, const std::vector<std::size_t>& rest,
                   const std::vector<std::optional<CostColumn>>& costs) {
  double effective_ns = 0;
  std::int64_t observed_ns = 0, window_ns = 0, waste_ns = 0, total = 0, waste = 0;
  for (const std::size_t i : rest) {
    const UsageCost& u = c.report.cost.devices[i].usage;
    effective_ns += u.effective_ns;
    observed_ns += u.observed_ns;
    window_ns += u.window_ns;
    waste_ns += WasteNs(u);
    if (!costs[i]) continue;
    total += costs[i]->total.nano();
    waste += costs[i]->waste.nano();
  }
  GpuLine line;
  line.name = fmt::format("{} {}", rest.size(), rest.size() < costs.size() ? "more" : "GPUs");
  line.busy = BusyText(effective_ns, observed_ns);
  line.cost = c.in_money ? c.Cost(Money::Nano(total)) : c.Hours(window_ns) + " h";
  line.waste = c.in_money ? c.Cost(Money::Nano(waste)) : c.Hours(waste_ns) + " h";
  return line;
}

std::vector<GpuLine> GpuLines(const ViewContext& c, std::size_t most) {
  const CostReport& cost = c.report.cost;
  const std::vector<std::optional<CostColumn>> costs = DeviceCostColumns(cost);
  std::vector<std::size_t> order(cost.devices.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  const bool folds = order.size() > most;
  if (folds) SortByWaste(cost, &order);
  const std::size_t shown = folds ? most - 1 : order.size();
  std::vector<GpuLine> lines;
  for (std::size_t i = 0; i < shown; ++i) lines.push_back(LineOf(c, cost.devices[order[i]], costs[order[i]]));
  if (folds) lines.push_back(LineOfRest(c, {order.begin() + static_cast<std::ptrdiff_t>(shown), order.end()}, costs));
  return lines;
}

std::string RibbonText(const ViewContext& c, const DeviceResult& device, int columns, const Screen& screen) {
  std::string text;
  for (const RibbonColumn& column :
       RibbonOf(device, c.report.thresholds, c.report.run.start, c.report.run.end, columns)) {
    text += screen.Styled(Info(column.look).block, fmt::format("38;5;{}", Info(column.look).color));
  }
  return text;
}

// The rows of a table, with a ribbon behind each where there is room. The widest cell decides its column; names are
// cut to what is left.
void AddGpus(const ViewContext& c, std::size_t most, Screen* screen) {
  if (c.report.traced_only || c.report.cost.devices.empty() || c.report.cost.whole.window_ns == 0) return;
  std::vector<GpuLine> lines = GpuLines(c, most);
  const bool several = c.report.cost.devices.size() > most;
  lines.insert(lines.begin(),
               {several ? "most waste" : "GPU", "busy", "power", c.in_money ? "cost" : "time", "waste", nullptr});
  // The last ones yield first where the terminal is narrow.
  std::vector<std::string GpuLine::*> cells = {&GpuLine::waste, &GpuLine::busy, &GpuLine::cost, &GpuLine::power};
  std::vector<int> widths;
  int taken = 2;
  for (std::size_t i = 0; i < cells.size(); ++i) {
    int width = 0;
    for (const GpuLine& line : lines) width = std::max(width, DisplayWidth(line.*cells[i]));
    if (taken + 2 + width + kNarrowestName > screen->columns()) break;
    taken += 2 + width;
    widths.push_back(width);
  }
  cells.resize(widths.size());
  int name_width = 0;
  for (const GpuLine& line : lines) name_width = std::max(name_width, DisplayWidth(line.name));
  name_width = std::min(name_width, screen->columns() - taken);
  const int ribbon = std::min(kRibbonColumns, screen->columns() - taken - name_width - 2);
  const bool drawn = ribbon >= kScreenRibbonFrom && c.report.run.end > c.report.run.start;
  for (std::size_t row = 0; row < lines.size(); ++row) {
    const std::string name = Shortened(lines[row].name, name_width);
    std::string text = "  " + name + std::string(static_cast<std::size_t>(name_width - DisplayWidth(name)), ' ');
    for (std::size_t i = 0; i < cells.size(); ++i) {
      const std::string& cell = lines[row].*cells[i];
      text += std::string(static_cast<std::size_t>(2 + widths[i] - DisplayWidth(cell)), ' ') + cell;
    }
    if (drawn && row == 0) text += "  over time";
    if (drawn && lines[row].ribbon != nullptr) text += "  " + RibbonText(c, *lines[row].ribbon, ribbon, *screen);
    screen->Raw(LineRank::kUseful, std::move(text));
  }
}

// "15 min from 2026-10-05 09:30 UTC". A log without dates has a length only.
std::string WindowForPeople(const RunResult& run) {
  const std::string span = DurationForPeople(run.end - run.start);
  if (!IsDated(run.start)) return span + ", without dates";
  std::string start = FormatRfc3339(run.start).substr(0, 16);
  start[10] = ' ';
  return span + " from " + start + " UTC";
}

// What the figures are about: GPUs, window, counter, price. Captures that are not joined, or that have no dates, are
// described by the title of the page.
std::string AboutLine(const ViewContext& c, const AuditView& view) {
  const AuditReport& r = c.report;
  if (r.traced_only && (r.run.devices.empty() || CapturesApart(r) > 0 || !IsDated(r.run.start))) return view.title;
  const std::vector<std::string> names = GpuNames(r);
  std::string line = GpuCount(r.cost.gpus, r.cost.others);
  if (!names.empty()) line += ", " + names.front() + (names.size() > 1 ? " and others" : "");
  line += ", " + WindowForPeople(r.run);
  const std::string counter = CommonCounter(r);
  if (!counter.empty() && !r.traced_only) line += "; counter " + counter;
  if ((c.priced || r.traced_only) && r.cost.rate.per_gpu_hour) {
    line += fmt::format("; price {} per GPU-hour ({})", c.PriceOfOne(*r.cost.rate.per_gpu_hour), r.cost.rate.source);
  } else if (c.priced) {
    line += fmt::format("; {} prices", r.cost.rates.size());
  }
  return line;
}

// The worst doubt, and how many more there are. The table has the worst first; information is no doubt.
std::string DoubtLine(const AuditView& view) {
  const std::vector<TableRow>& rows = view.quality.rows;
  const auto doubts =
      std::count_if(rows.begin(), rows.end(), [](const TableRow& row) { return row.front() != Name(Severity::kInfo); });
  if (doubts == 0) return {};
  return doubts == 1 ? rows.front().back() : fmt::format("1 of {}: {}", doubts, rows.front().back());
}

// The verdict and the largest slice in one sentence: "...; $3.60 (45.0 %) was waste; largest slice: idle, held
// (22.6 %)." The slice is named as in the legend, which has its amount.
std::string WithLargestSlice(const ViewContext& c, std::string verdict) {
  if (c.report.traced_only || c.report.cost.whole.observed_ns == 0) return verdict;
  const std::vector<const BillSlice*> slices = SlicesLargestFirst(c);
  verdict.pop_back();  // the full stop
  const std::string_view name = LookOf(*slices.front()).name;
  if (slices.size() == 1) return fmt::format("{}; all of it was {}.", verdict, name);
  const double share = c.ShareOfBill(slices.front()->cost, slices.front()->ns);
  return fmt::format("{}; largest slice: {} ({}).", verdict, name, PercentText(share));
}

Screen ScreenOf(const ViewContext& c, const AuditView& view, std::size_t gpus, const Paper& paper) {
  const AuditReport& report = c.report;
  Screen screen(paper);
  screen.Add(LineRank::kAlways, "", WithLargestSlice(c, view.headline), 3, true);
  if (!report.traced_only && report.cost.whole.window_ns > 0) {
    const std::vector<const BillSlice*> slices = SlicesLargestFirst(c);
    screen.Blank();
    AddBar(c, slices, &screen);
    AddLegend(c, slices, &screen);
  }
  screen.Blank();
  screen.AddLabelled("why", view.why, kScreenWhyLines);
  screen.AddLabelled("next", view.next, kNextLines);
  screen.Blank();
  AddGpus(c, gpus, &screen);
  if (!view.trace.rows.empty()) screen.AddTable(LineRank::kUseful, view.trace.columns, view.trace.rows, kTraceRows);
  screen.Blank();
  screen.Add(LineRank::kNeeded, "", AboutLine(c, view), 2);
  screen.Add(LineRank::kUseful, "", IdsText(report.ids), 1);
  screen.Add(LineRank::kUseful, "", view.runs_line, 2);
  screen.Add(LineRank::kUseful, "doubt ", DoubtLine(view), 2);
  screen.Add(LineRank::kAlways, "", "All figures: --full. With charts: -o report.html.", 2);
  return screen;
}

}  // namespace

// GPUs are folded until the rest has room, never dropped: a row that is missing would look like a GPU that is not
// there.
std::string AuditScreen(const AuditReport& report, const Paper& paper) {
  if (!report.live.no_gpu.empty()) return HostScreen(report, paper);
  const ViewContext c(report);
  const AuditView view = ViewOf(report, {});
  std::size_t gpus = kGpuRows;
  while (gpus > 1 && ScreenOf(c, view, gpus, paper).LinesOfText() > paper.rows) --gpus;
  return ScreenOf(c, view, gpus, paper).Take();
}

}  // namespace idleburn
