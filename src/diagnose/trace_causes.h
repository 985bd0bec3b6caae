// Applies the rules of trace_rules.h to one traced device.

#pragma once

#include <string_view>
#include <vector>

#include "diagnose/cause_table.h"
#include "diagnose/trace_rules.h"

namespace idleburn {

// The instants of the window that one cause claims. The claims of one device are disjoint, so their shares add
// up.
struct TraceClaim {
  std::string_view cause;
  TimeSet time;
};

// What FindTraceCauses found.
struct TraceVerdict {
  std::vector<Finding> findings;  // largest share first; never empty
  std::vector<TraceClaim> claims;
};

// What a trace of one device shows: the causes whose rules hold, every other tested share of 3 % or more as
// "unknown", or that nothing is lost. Shares and bounds refer to the scene's window. A finding from one capture
// is at most likely.
TraceVerdict FindTraceCauses(const TraceScene& scene);

// The finding for a device that did nothing in the profiled steps, while all its work lies outside them.
// Neither window then represents the run. Its time is the idle time of `span`.
Finding WorkOutsideSteps(const TraceScene& span, Interval steps);

// The finding for a profile without device events: what it lacks, and how to record it.
Finding NoDevices(const Profile& profile);

}  // namespace idleburn
