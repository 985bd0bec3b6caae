#pragma once

#include <optional>
#include <string>

#include "fleet/fleet_report.h"
#include "fleet/fleet_trends.h"
#include "report/json_values.h"
#include "report/report_page.h"

namespace idleburn {

// The weeks of a fleet as a table. Without rows if there are none.
ReportTable FleetWeeksTable(const FleetReport& report);

// The rows of `trends` (docs/json/fleet.md). `Json` is a template parameter for the reason of report/json_values.h.
template <typename Json>
Json FleetWeeksJson(const FleetReport& report) {
  const auto hours = [](const FleetTime& time) {
    Json json;
    for (std::size_t p = 0; p < kFleetPhaseCount; ++p) {
      json[std::string(kFleetPhaseNames[p])] = GpuHoursOf(time.phases[p]);
    }
    json["total"] = GpuHoursOf(time.TotalMs());
    return json;
  };
  const auto cost = [&](Json& row, const FleetCost& of) {
    PutMoney(row, "cost", of.total, report.currency);
    PutMoney(row, "waste", of.waste, report.currency);
    PutMoney(row, "waste_high", of.waste_high, report.currency);
  };
  const auto time = [](std::int64_t second) { return FormatRfc3339(Instant::FromNanos(second * kNanosPerSecond)); };
  Json rows = Json::array();
  const FleetWeek* before = nullptr;
  for (const FleetWeek& week : report.weeks) {
    Json row = {{"week", week.name}, {"from", time(week.from)}, {"to", time(week.to)}, {"partial", week.partial}};
    row["gpus"] = week.gpus;
    row["gpu_hours"] = hours(week.time);
    cost(row, week.cost);
    row["waste_share"] = OrNull<Json>(WasteShareOf(week));
    row["idle_share"] = OrNull<Json>(IdleShareOf(week));
    row["change"] = nullptr;
    if (before != nullptr) {
      if (const auto change = ChangeOf(*before, week)) {
        row["change"] = {{"cost", OrNull<Json>(change->cost)},
                         {"gpu_hours", change->gpu_hours},
                         {"waste_share", change->waste_share},
                         {"idle_share", change->idle_share}};
      }
    }
    row["by_team"] = Json::array();
    for (const FleetOwner& team : week.teams) {
      Json of_team = {{"name", Printable(team.name)}, {"gpu_hours", hours(team.time)}};
      cost(of_team, team.cost);
      row["by_team"].push_back(std::move(of_team));
    }
    rows.push_back(std::move(row));
    before = &week;
  }
  return rows;
}

}  // namespace idleburn
