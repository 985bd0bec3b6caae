// What a job's owner reads when the job ends.

#pragma once

#include <optional>
#include <string>

#include "agent/node_counters.h"
#include "base/money.h"

namespace idleburn {

// Two lines: what the job used and cost, then what was lost most and what to try. Without a price it says so.
// Example:
//   job 4711 of ada (team vision): 4.1 GPU-hours for $12.30. Waste: $5.10 (41.5 %).
//   Largest loss: idle while it held GPU memory, 1.2 GPU-hours. Try: end the job when its work is done (stop_idle).
std::string JobSummaryText(const Owner& owner, const JobCounters& job, const std::optional<Money>& per_gpu_hour,
                           const std::string& currency);

// The file name of a job's summary: its id if that is plain ("4711.txt"), else with every other character as "_".
std::string JobSummaryName(const Owner& owner);

}  // namespace idleburn
