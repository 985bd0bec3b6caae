#include "report/audit_screen.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>

#include "diagnose/make_finding.h"
#include "report/audit_view.h"
#include "report/display.h"
#include "report/ribbon.h"
#include "report/screen.h"
#include "report/view_context.h"
#include "telemetry/run_facts.h"
#include "text/figures.h"
#include "text/number.h"
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
constexpr int kLabel = 6;  // columns of "why   ", "next  "
constexpr int kNarrowestName = 6;
constexpr int kScreenRibbonFrom = 16;  // narrower ribbons say nothing
constexpr int kRibbonColumns = 48;     // wider ones say no more

// How a slice of the bill is drawn: like the same time in a ribbon.
struct SliceLook {
  std::string_view id;
  Look look;
};
constexpr auto kSliceLooks = std::to_array<SliceLook>({
    {"idle_held", Look::kIdleHeld},
    {"idle_empty", Look::kIdleEmpty},
    {"idle_unknown", Look::kIdleEmpty},
    {"idle", Look::kIdleEmpty},
    {"underutilized", Look::kUnderutilized},
    {"productive", Look::kProductive},
    {"compute_bound", Look::kComputeBound},
    {"spin_wait", Look::kSpinWait},
    {"unobserved", Look::kUnobserved},
    {"unallocated", Look::kUnobserved},
});

const LookInfo& LookOf(const BillSlice& slice) {
  const auto* found =
      std::find_if(kSliceLooks.begin(), kSliceLooks.end(), [&](const SliceLook& s) { return s.id == slice.id; });
  return Info(found == kSliceLooks.end() ? Look::kUnobserved : found->look);
}

// The slices that have time, the largest first.
std::vector<const BillSlice*> LargestFirst(const ViewContext& c) {
  std::vector<const BillSlice*> slices;
  for (const BillSlice& slice : c.slices) {
    if (slice.ns > 0) slices.push_back(&slice);
  }
  const auto size = [&](const BillSlice* s) { return c.ShareOfBill(s->cost, s->ns); };
  std::stable_sort(slices.begin(), slices.end(),
                   [&](const BillSlice* a, const BillSlice* b) { return size(a) > size(b); });
  return slices;
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
    for (; drawn < end; ++drawn) part += LookOf(*slice).block;
    if (!part.empty()) bar += screen->Styled(part, fmt::format("38;5;{}", LookOf(*slice).color));
  }
  screen->Raw(Keep::kUseful, std::move(bar));
}

// What each part of the bar is, as many entries on a line as fit. An entry is never split.
void AddLegend(const ViewContext& c, const std::vector<const BillSlice*>& slices, Screen* screen) {
  std::string line;
  Keep keep = Keep::kNeeded;  // the first line names the largest slices
  for (const BillSlice* slice : slices) {
    std::string entry = fmt::format("{} {} {}", LookOf(*slice).block, slice->name, c.Part(*slice));
    entry = Shortened(entry, screen->columns() - 2);
    if (!line.empty() && DisplayWidth(line) + 3 + DisplayWidth(entry) > screen->columns() - 2) {
      screen->Raw(keep, "  " + line);
      keep = Keep::kUseful;
      line.clear();
    }
    line += (line.empty() ? "" : "   ") + entry;
  }
  if (!line.empty()) screen->Raw(keep, "  " + line);
}

// Lines under one label. Each takes at most two lines of the screen.
void AddLabelled(std::string_view label, const std::vector<std::string>& lines, std::size_t most, Screen* screen) {
  std::string lead = fmt::format("{:<{}}", label, kLabel);
  Keep keep = Keep::kNeeded;
  for (std::size_t i = 0; i < std::min(lines.size(), most); ++i) {
    screen->Add(keep, lead, lines[i], 2);
    lead.assign(kLabel, ' ');
    keep = Keep::kUseful;
  }
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
  line.power = u.mean_power_w ? fmt::format("{:.0f} W", *u.mean_power_w) : "";
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
  line.name = fmt::format("{} more", rest.size());
  line.busy = BusyText(effective_ns, observed_ns);
  line.cost = c.in_money ? c.Cost(Money::Nano(total)) : c.Hours(window_ns) + " h";
  line.waste = c.in_money ? c.Cost(Money::Nano(waste)) : c.Hours(waste_ns) + " h";
  return line;
}

std::vector<GpuLine> GpuLines(const ViewContext& c) {
  const CostReport& cost = c.report.cost;
  const std::vector<std::optional<CostColumn>> costs = DeviceCostColumns(cost);
  std::vector<std::size_t> order(cost.devices.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  const bool folds = order.size() > kGpuRows;
  if (folds) {
    const auto lost = [&](std::size_t i) { return WastedNs(cost.devices[i].usage); };
    std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) { return lost(a) > lost(b); });
  }
  const std::size_t shown = folds ? kGpuRows - 1 : order.size();
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
void AddGpus(const ViewContext& c, Screen* screen) {
  if (c.report.traced_only || c.report.cost.devices.empty() || c.report.cost.whole.window_ns == 0) return;
  std::vector<GpuLine> lines = GpuLines(c);
  const bool several = c.report.cost.devices.size() > kGpuRows;
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
    screen->Raw(row < 2 ? Keep::kUseful : Keep::kDetail, std::move(text));
  }
}

// How a trace's windows split, as far as there is room.
void AddTrace(const AuditView& view, Screen* screen) {
  if (view.trace.rows.empty()) return;
  const std::vector<TableRow> rows(
      view.trace.rows.begin(),
      view.trace.rows.begin() + static_cast<std::ptrdiff_t>(std::min(view.trace.rows.size(), kTraceRows)));
  const std::string text = LayOutTable(view.trace.columns, rows, screen->columns(), 2);
  std::string_view table = text;
  while (!table.empty()) {
    const std::size_t end = table.find('\n');
    screen->Raw(Keep::kUseful, Shortened(table.substr(0, end), screen->columns()));
    table.remove_prefix(end == std::string_view::npos ? table.size() : end + 1);
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

// What the figures are about: GPUs, window, counter, price.
std::string AboutLine(const ViewContext& c) {
  const AuditReport& r = c.report;
  if (r.traced_only) return {};
  const std::vector<std::string> names = GpuNames(r);
  std::string line = GpuCount(r.cost.gpus, r.cost.others);
  if (!names.empty()) line += ", " + names.front() + (names.size() > 1 ? " and others" : "");
  line += ", " + WindowForPeople(r.run);
  const std::string counter = CommonCounter(r);
  if (!counter.empty()) line += "; counter " + counter;
  if (c.priced && r.cost.rate.per_gpu_hour) {
    line += fmt::format("; price {} per GPU-hour ({})", c.ExactCost(*r.cost.rate.per_gpu_hour), r.cost.rate.source);
  } else if (c.priced) {
    line += fmt::format("; {} prices", r.cost.rates.size());
  }
  return line;
}

// The worst doubt, and how many more there are. Information is no doubt.
std::string DoubtLine(const ViewContext& c) {
  if (c.report.quality == nullptr) return {};
  std::string first;
  std::size_t more = 0;
  for (const Severity severity : {Severity::kError, Severity::kWarn}) {
    for (const QualityInfo& info : kQualityTable) {
      const DataQuality::Row& row = c.report.quality->Get(info.id);
      if (info.severity != severity || row.count == 0) continue;
      first.empty() ? void(first = Describe(info, row)) : void(++more);
    }
  }
  return more == 0 ? first : fmt::format("{} more, first: {}", more, first);
}

}  // namespace

std::string AuditScreen(const AuditReport& report, const Paper& paper, std::size_t rows) {
  const ViewContext c(report);
  const AuditView view = ViewOf(report, {});
  Screen screen(paper, rows);
  screen.Add(Keep::kAlways, "", view.headline, 3, true);
  if (!report.traced_only && report.cost.whole.window_ns > 0) {
    const std::vector<const BillSlice*> slices = LargestFirst(c);
    screen.Blank();
    AddBar(c, slices, &screen);
    AddLegend(c, slices, &screen);
  }
  screen.Blank();
  AddLabelled("why", view.why, kScreenWhyLines, &screen);
  AddLabelled("next", view.next, kNextLines, &screen);
  screen.Blank();
  AddGpus(c, &screen);
  AddTrace(view, &screen);
  screen.Blank();
  screen.Add(Keep::kNeeded, "", report.traced_only ? view.title : AboutLine(c), 2);
  screen.Add(Keep::kUseful, "", IdsText(report.ids), 1);
  screen.Add(Keep::kUseful, "", view.runs_line, 2);
  screen.Add(Keep::kUseful, "doubt ", DoubtLine(c), 2);
  screen.Add(Keep::kAlways, "", "All figures: --full. With charts: -o report.html.", 2);
  return std::move(screen).Take();
}

}  // namespace idleburn
