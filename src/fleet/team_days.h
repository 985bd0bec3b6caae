#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/result.h"
#include "base/run_ids.h"
#include "fleet/fleet_ledger.h"
#include "fleet/fleet_report.h"

// The answer of `idleburn fleet days`: GPU time by UTC day, team and phase. It comes from the ledger alone.
namespace idleburn {

struct TeamDay {
  std::int64_t day = 0;  // its begin, Unix seconds
  std::string team;      // as FleetOwner::name
  FleetTime time;
};

struct TeamDays {
  RunIds ids = {};
  std::int64_t from = 0;  // full hours, Unix seconds
  std::int64_t to = 0;
  std::vector<TeamDay> rows;       // by day, then by team
  std::int64_t over_midnight = 0;  // spans that reach over a midnight: they count on the day on which they begin
  std::int64_t crossing = 0;       // GPUs' spans that reach over an end of the window: unobserved, without a team
};

// Teams of a day sum to its GPUs, as in the whole answer (fleet/fleet_answer.h).
Result<TeamDays> TeamDaysFrom(FleetLedger& ledger, std::int64_t from, std::int64_t to);

}  // namespace idleburn
