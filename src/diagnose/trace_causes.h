#pragma once

#include <string_view>
#include <vector>

#include "diagnose/finding.h"
#include "diagnose/trace_facts.h"

namespace idleburn {

// The time of the window that one cause claims. Claims of one device are disjoint: their shares add up.
struct TraceClaim {
  std::string_view cause;
  TimeSet time;
};

struct TraceVerdict {
  std::vector<Finding> findings;  // the largest share first; never empty
  std::vector<TraceClaim> claims;
};

// What a trace of one device shows: the causes whose rules hold, every other tested share of 3 % or more as "unknown",
// or that nothing is lost. Shares and bounds are of the scene's window; what rests on one capture is at most likely.
TraceVerdict FindTraceCauses(const TraceScene& scene);

// The device did nothing in the profiled steps, `steps`, and all its work lies outside of them: neither window then
// judges the run. Its time is what is idle of `span`.
Finding WorkOutsideSteps(const TraceScene& span, Interval steps);

// A profile without device events says nothing about a GPU: what it lacks, and how to record it.
Finding NoDevices(const Profile& profile);

}  // namespace idleburn
