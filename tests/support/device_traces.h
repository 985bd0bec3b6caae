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

// The idle time of a budget in the three parts that need no host ranges: before the launch call starts, from there to
// the start of the event, and without a launch record.
inline std::int64_t HostWaitNs(const TraceBudget& b) {
  return b.IdleNs(IdleClass::kDataloader) + b.IdleNs(IdleClass::kSyncApi) + b.IdleNs(IdleClass::kMemcpyApi) +
         b.IdleNs(IdleClass::kCpuOp) + b.IdleNs(IdleClass::kHostOther);
}
inline std::int64_t LaunchToStartNs(const TraceBudget& b) {
  return b.IdleNs(IdleClass::kLaunchLatency) + b.IdleNs(IdleClass::kQueuedWait);
}
inline std::int64_t UnknownWaitNs(const TraceBudget& b) { return b.IdleNs(IdleClass::kNoLaunchRecord); }

}  // namespace idleburn::test
