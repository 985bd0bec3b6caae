#pragma once

#include <cstdint>
#include <map>
#include <string>

#include "base/result.h"
#include "fleet/agent_gpus.h"
#include "fleet/fleet_ledger.h"
#include "fleet/fleet_report.h"
#include "price/find_rate.h"

// The answer for a window of booked hours: time and money by GPU, team, user, job and experiment.
namespace idleburn {

// What the answer needs besides the ledger.
struct AnswerInputs {
  std::int64_t from = 0;  // full hours, Unix seconds
  std::int64_t to = 0;
  const Prices& prices;
  bool price_given = false;                   // by flags or settings: then the agents' own prices do not count
  std::map<std::string, AgentGpu> gpus = {};  // by UUID
};

// Sums the ledger. Money is priced once for each price of an hour and then split by largest remainder, so teams sum to
// the total, and so do GPUs, users, jobs and experiments with what has no owner. A span that reaches over an end of the
// window cannot be split: its part inside is unobserved.
Result<FleetReport> AnswerFrom(FleetLedger& ledger, const AnswerInputs& inputs);

}  // namespace idleburn
