// The causes of a job of several ranks. A job is one thing: its ranks wait for each other, so a cause is tested on the
// sum over all ranks and listed once, with its range over the ranks.

#pragma once

#include <span>
#include <vector>

#include "diagnose/trace_causes.h"
#include "diagnose/trace_rules.h"

namespace idleburn {

// One rank's deciding window and what was found in it alone.
struct RankWindow {
  std::int64_t rank = 0;
  DeviceTrace trace;
  StepStatistics steps;
  PeerWait peers;
  TraceVerdict alone;
};

// The findings of the job, largest share first. What holds on some ranks only, in time that no cause of the job
// explains, comes behind them and names those ranks. Shares and bounds refer to the sum of all windows. The ranks must
// have the same kind of window, and their idle time must be attributed.
std::vector<Finding> FindJobCauses(std::span<const RankWindow> ranks);

}  // namespace idleburn
