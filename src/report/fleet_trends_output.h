#pragma once

#include <optional>
#include <string>

#include "fleet/fleet_report.h"
#include "fleet/fleet_trends.h"
#include "report/fleet_json.h"
#include "report/report_page.h"
#include "text/time_zone.h"

namespace idleburn {

// The weeks of a fleet as a table. Without rows if there are none.
ReportTable FleetWeeksTable(const FleetReport& report);

// The rows of `trends` (docs/json/fleet.md). `Json` is a template parameter for the reason of report/json_values.h.
template <typename Json>
Json FleetWeeksJson(const FleetReport& report) {
  const auto cost = [&](Json& row, const FleetCost& of) {
    PutMoney(row, "cost", of.total, report.currency);
    PutWaste(row, of, report.currency);
  };
  Json rows = Json::array();
  const FleetWeek* before = nullptr;
  for (const FleetWeek& week : report.weeks) {
    Json row = {{"week", week.name},
                {"from", FormatUnixTime(week.from)},
                {"to", FormatUnixTime(week.to)},
                {"partial", week.partial}};
    row["gpus"] = week.gpus;
    row["gpu_hours"] = GpuHoursJson<Json>(week.time);
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
      Json of_team = {{"name", Printable(team.name)}, {"gpu_hours", GpuHoursJson<Json>(team.time)}};
      cost(of_team, team.cost);
      row["by_team"].push_back(std::move(of_team));
    }
    rows.push_back(std::move(row));
    before = &week;
  }
  return rows;
}

}  // namespace idleburn
