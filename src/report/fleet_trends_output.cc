#include "report/fleet_trends_output.h"

#include <fmt/format.h>

#include <algorithm>

#include "report/display.h"
#include "text/figures.h"

namespace idleburn {
namespace {

// A difference of shares in percentage points: "+2.5 points".
std::string PointsText(double difference) { return SignedDigits(difference * 100) + " points"; }

}  // namespace

ReportTable FleetWeeksTable(const FleetReport& report) {
  ReportTable table;
  table.title = "Week by week";
  const bool priced = report.cost.total.has_value();
  table.columns = {{"week", kLeft}, {"GPU-hours", kRight}};
  if (priced) table.columns.push_back({"cost", kRight});
  for (const char* column : {"waste at least", "idle"}) table.columns.push_back({column, kRight});
  table.columns.push_back({priced ? "cost, change" : "GPU-hours, change", kRight});
  table.columns.push_back({"waste, change", kRight});
  table.columns.push_back({"idle, change", kRight, false, true});
  std::vector<Money> costs;
  for (const FleetWeek& week : report.weeks) costs.push_back(week.cost.total.value_or(Money()));
  costs = RoundColumn(costs, MinorUnit(report.currency)).value_or(costs);
  bool partial = false;
  for (std::size_t i = 0; i < report.weeks.size(); ++i) {
    const FleetWeek& week = report.weeks[i];
    partial = partial || week.partial;
    TableRow row = {week.name + (week.partial ? ", partial" : ""), ThreeDigits(GpuHoursOf(week.time.TotalMs()))};
    if (priced) row.push_back(Amount(costs[i], report.currency));
    const auto share = [](const std::optional<double>& of) { return of ? PercentText(*of) : std::string(); };
    row.push_back(share(WasteShareOf(week)));
    row.push_back(share(IdleShareOf(week)));
    const std::optional<FleetWeekChange> change = i == 0 ? std::nullopt : ChangeOf(report.weeks[i - 1], week);
    if (change) {
      const std::optional<double> first = priced ? change->cost : std::optional(change->gpu_hours);
      row.push_back(first ? SignedPercent(*first) : "");
      row.push_back(PointsText(change->waste_share));
      row.push_back(PointsText(change->idle_share));
    }
    table.rows.push_back(std::move(row));
  }
  if (partial) table.notes.push_back("Partial weeks are not compared: the window or the counts cover only a part.");
  return table;
}

}  // namespace idleburn
