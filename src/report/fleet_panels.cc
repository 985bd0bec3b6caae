#include <fmt/format.h>

#include "report/fleet_charts.h"
#include "report/fleet_figures.h"
#include "text/figures.h"
#include "text/time_zone.h"

namespace idleburn {
namespace {

std::string PanelFigure(PanelUnit unit, double value) {
  switch (unit) {
    case PanelUnit::kShare:
      return PercentText(value);
    case PanelUnit::kSeconds:
      return SecondsForPeople(value);
    case PanelUnit::kBytes:
      return BinaryBytes(value);
    case PanelUnit::kBytesPerSecond:
      return DecimalBytes(value) + "/s";
    case PanelUnit::kGpuHours:
      return GpuHoursForPeople(value);
    case PanelUnit::kWatts:
      return ThreeDigits(value) + " W";
    case PanelUnit::kJoules:
      return ThreeDigits(value / 3.6e6) + " kWh";
    case PanelUnit::kCelsius:
      return ThreeDigits(value) + " °C";
    case PanelUnit::kCount:
    case PanelUnit::kGpus:
    case PanelUnit::kMoney:
      return ThreeDigits(value);
  }
  return ThreeDigits(value);
}

bool IsSingle(const PanelAnswer& panel) { return panel.row->kind == PanelKind::kStat && panel.lines.size() == 1; }

ReportTable TableOfPanel(const PanelAnswer& panel) {
  const PanelRow& row = *panel.row;
  const bool over_time = row.kind == PanelKind::kTimeSeries || row.kind == PanelKind::kStacked;
  ReportTable table;
  table.title = std::string(panel.section) + ": " + std::string(row.title);
  table.columns = {{"series", kLeft}};
  if (over_time) table.columns.insert(table.columns.end(), {{"mean", kRight}, {"peak", kRight}});
  table.columns.push_back({over_time ? "at the end" : "value", kRight});
  double peak = 0;
  bool flat = true;  // such lines show nothing that the rows do not say
  for (const PanelLine& line : panel.lines) {
    TableRow cells = {line.name};
    if (over_time) {
      cells.push_back(PanelFigure(row.unit, line.mean));
      cells.push_back(PanelFigure(row.unit, line.peak));
      ReportLine drawn{line.name, {}};
      for (const auto& [second, value] : line.points) {
        drawn.points.emplace_back(static_cast<double>(second), value);
        flat = flat && value == 0;
      }
      peak = std::max(peak, line.peak);
      table.chart.lines.push_back(std::move(drawn));
    }
    cells.push_back(PanelFigure(row.unit, line.last));
    table.rows.push_back(std::move(cells));
  }
  if (flat) table.chart.lines.clear();
  if (over_time) {
    table.chart.peak = PanelFigure(row.unit, peak);
    table.chart.ends = {FormatUnixTime(panel.lines.front().points.front().first),
                        FormatUnixTime(panel.lines.front().points.back().first)};
  }
  if (!row.about.empty()) table.notes.emplace_back(row.about);
  if (panel.more > 0) table.notes.push_back(fmt::format("{} smaller series are left out.", panel.more));
  return table;
}

}  // namespace

ReportTable FleetFunnelTable(const FleetReport& report) {
  ReportTable table;
  if (!report.exact || report.whole.TotalMs() == 0) return table;
  table.title = "From all GPUs to effective ones";
  table.columns = {{"GPU time", kLeft}, {"GPU-hours", kRight}, {"share", kRight}};
  const FleetFunnel funnel = FunnelOf(report);
  const auto add = [&](std::string_view name, std::string_view meaning, std::string_view fill, std::int64_t ms) {
    const double hours = GpuHoursOf(ms);
    table.rows.push_back(
        {fmt::format("{}: {}", name, meaning), ThreeDigits(hours), FleetShareText(ms, funnel.total_ms)});
    table.chart.bars.push_back(
        {std::string(name), {{hours, fill, fmt::format("{}: {}", name, GpuHoursForPeople(hours))}}});
  };
  add("all", "closed hours of all GPUs", "fill-unobserved", funnel.total_ms);
  add("allocated", "an owner held the GPU", "fill-under", funnel.allocated_ms);
  add("active", "of that, neither idle nor without data", "fill-productive", funnel.active_ms);
  add("effective", "of that, at 70 % utilization or more", "fill-bound", funnel.effective_ms);
  table.notes.emplace_back(report.gpu_use ? "Effective time leaves out spin-wait."
                                          : "Effective time includes spin-wait.");
  return table;
}

std::vector<ReportTable> FleetPanelTables(const FleetReport& report) {
  std::vector<ReportTable> tables;
  std::string_view section;
  for (const PanelAnswer& panel : report.panels) {
    if (!IsSingle(panel)) {
      tables.push_back(TableOfPanel(panel));
      continue;
    }
    const PanelRow& row = *panel.row;
    if (tables.empty() || section != panel.section) {
      section = panel.section;
      tables.emplace_back();
      tables.back().title = std::string(row.dashboard == DashboardId::kAgent ? "Agents: " : "") + std::string(section);
      tables.back().columns = {{"figure", kLeft}, {"at the end", kRight}};
    }
    tables.back().rows.push_back({std::string(row.title), PanelFigure(row.unit, panel.lines.front().last)});
    if (!row.about.empty()) tables.back().notes.push_back(std::string(row.title) + ": " + std::string(row.about));
  }
  return tables;
}

}  // namespace idleburn
