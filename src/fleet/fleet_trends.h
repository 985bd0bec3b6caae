#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "base/result.h"
#include "fleet/fleet_ledger.h"
#include "fleet/fleet_report.h"

// Week by week: how time, cost and waste of a fleet develop. Weeks are those of ISO 8601: Monday 00:00 UTC to Monday.
namespace idleburn {

// Fills report->weeks from the ledger, with one reading for GPUs and one for teams. The report's window, GPUs and costs
// must be filled in.
//
// A span that reaches over the edge of a week cannot be split: its part in each week is unobserved and of no known
// owner there, as at the ends of the window. `data_quality` counts such spans. The cost of each GPU is split over the
// weeks by its time, so weeks sum to the cost of the fleet, and the teams of a week sum to the week.
Result<void> AddFleetWeeks(FleetLedger& ledger, FleetReport* report);

// "2026-W10" of the week that begins at a Monday, Unix seconds.
std::string IsoWeekName(std::int64_t monday);
// The Monday 00:00 UTC at or before a moment, Unix seconds.
std::int64_t MondayOf(std::int64_t second);

// How a week differs from the week before. Absent unless both are whole and consecutive, because a part of a week
// compares with nothing.
struct FleetWeekChange {
  std::optional<double> cost;  // relative: 0.25 is a quarter more; absent without a price or a cost before
  double gpu_hours = 0;        // relative
  double waste_share = 0;      // difference of shares of the week's time, -1 to 1
  double idle_share = 0;
};
std::optional<FleetWeekChange> ChangeOf(const FleetWeek& before, const FleetWeek& week);

// Shares of a week's time, 0 to 1; absent without time.
std::optional<double> WasteShareOf(const FleetWeek& week);
std::optional<double> IdleShareOf(const FleetWeek& week);

}  // namespace idleburn
