#pragma once

#include <utility>
#include <vector>

#include "diagnose/step_budget.h"

namespace idleburn::test {

// All windows of all devices at once: of each, gpu_span, then profiler_steps where there are steps.
inline std::vector<DeviceTrace> TraceDevices(const Profile& profile, const IntervalSet* peer_wait = nullptr,
                                             std::size_t slice_events = TracedDevice::kSliceEvents) {
  const LaunchIndex launches(profile);
  const StartOrder<HostCall> calls(profile.calls);
  std::vector<DeviceTrace> traces;
  for (const ProfiledDevice& device : profile.devices) {
    const TracedDevice traced(profile, device, launches, calls, slice_events);
    traces.push_back(traced.GpuSpan(peer_wait));
    if (std::optional<DeviceTrace> steps = traced.Steps(peer_wait)) traces.push_back(std::move(*steps));
  }
  return traces;
}

}  // namespace idleburn::test
