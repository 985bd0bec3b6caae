#pragma once

#include <vector>

#include "diagnose/step_budget.h"

namespace idleburn::test {

// All windows of all devices at once.
inline std::vector<DeviceTrace> TraceDevices(const Profile& profile) {
  std::vector<DeviceTrace> traces;
  ForEachTrace(profile, [&traces](const DeviceTrace& trace) { traces.push_back(trace); });
  return traces;
}

}  // namespace idleburn::test
