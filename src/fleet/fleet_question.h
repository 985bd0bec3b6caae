#pragma once

#include <string>
#include <vector>

#include "config/settings.h"
#include "fleet/engine.h"
#include "fleet/fleet_report.h"
#include "fleet/team_days.h"

namespace idleburn {

// Full hours, Unix seconds.
struct FleetWindow {
  std::int64_t from = 0;
  std::int64_t to = 0;
};

// Reads --from and --to as written. An end that was not given is the newest closed hour, or a week from the end that
// was. Fails with a usage error if no closed hour lies between them.
Result<FleetWindow> ReadFleetWindow(const std::string& from, const std::string& to, Instant now);

// What is asked of a cluster.
struct FleetQuestion {
  EngineAddress engine;
  FleetWindow window;
  std::string ledger;  // a folder; empty: the engine's own in the user's data folder
  std::string jobs;    // a file with the scheduler's jobs; empty: none
  std::int64_t pue_millionths = 0;
  bool rebuild = false;    // read the window again
  bool pull_only = false;  // bring the ledger up to date, and answer nothing
  bool weeks = false;      // with the trend of weeks
  bool gpus = false;       // with what live counters tell of GPUs
  bool wasters = false;    // with why jobs waste
  bool panels = false;     // with the panels of hardware, hosts and agents
};

// Answers from the ledger, after it was brought up to date with the engine. An engine without our agents has no closed
// hours; then the gauges of exporters are audited.
Result<FleetReport> ReadFleet(const FleetQuestion& question, const Settings& settings, Instant now);

// The days of each team, from the ledger alone. An engine is asked first, if one is named; what it could not tell is
// added to `doubts`.
Result<TeamDays> ReadTeamDays(const FleetQuestion& question, Instant now, std::vector<FleetDoubt>* doubts);

}  // namespace idleburn
