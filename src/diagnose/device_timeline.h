#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "profile/interval_set.h"
#include "profile/profile.h"

namespace idleburn {

// What of a capture is looked at. Between its first and last event a device looks busy even if most of each step went
// by before the first launch; the steps are the host's, and device work may run past the last one. So no figure stands
// without the name of its window.
enum class Window : std::uint8_t {
  kGpuSpan,       // from the start of the device's first event to the end of its last
  kProfilerSteps  // from the start of the first profiled step to the end of the last
};
std::string_view Name(Window window);

// One device's events, once in order and once united over all streams. Nothing is clipped.
struct DeviceTimeline {
  explicit DeviceTimeline(const ProfiledDevice& device);

  std::vector<std::uint32_t> order;  // of the events: by start, then as in the file
  Interval span;                     // Window::kGpuSpan
  IntervalSet compute;               // kernels but kComm
  IntervalSet comm;
  IntervalSet copy;  // copies and sets
  IntervalSet htod;  // of these, copies from the host to the device
};

// Every nanosecond of a window is in exactly one of compute, exposed_comm, exposed_copy and idle.
struct TimeSplit {
  Interval window;
  IntervalSet busy;  // all but idle: a union over streams, never a sum
  IntervalSet compute;
  IntervalSet comm;          // overlaps compute
  IntervalSet exposed_comm;  // comm without compute
  IntervalSet copy;          // copies and sets; overlaps both
  IntervalSet exposed_copy;  // copies and sets without compute and comm
  IntervalSet exposed_htod;  // the part of exposed_copy from the host to the device
  IntervalSet idle;
};
TimeSplit SplitTime(const DeviceTimeline& timeline, Interval window);

// The steps of the processes that drive the device: its own processes' if they have any, else all.
std::vector<ProfiledStep> StepsOf(const Profile& profile, const ProfiledDevice& device);
// From the first start to the last end. At least one step.
Interval StepWindow(const std::vector<ProfiledStep>& steps);

}  // namespace idleburn
