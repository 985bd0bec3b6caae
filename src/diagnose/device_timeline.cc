#include "diagnose/device_timeline.h"

#include <algorithm>
#include <numeric>

#include "base/check.h"

namespace idleburn {

std::string_view Name(Window window) { return window == Window::kGpuSpan ? "gpu_span" : "profiler_steps"; }

DeviceTimeline::DeviceTimeline(const ProfiledDevice& device) : order(device.events.size()) {
  CHECK(!device.events.empty());
  const std::vector<DeviceEvent>& events = device.events;
  std::iota(order.begin(), order.end(), 0U);
  const auto earlier = [&](std::uint32_t a, std::uint32_t b) { return events[a].start_ns < events[b].start_ns; };
  if (!std::is_sorted(order.begin(), order.end(), earlier)) std::stable_sort(order.begin(), order.end(), earlier);
  IntervalUnion kernels;
  IntervalUnion collectives;
  IntervalUnion copies;
  IntervalUnion to_device;
  span = {events[order.front()].start_ns, events[order.front()].end_ns};
  for (const std::uint32_t i : order) {
    const DeviceEvent& e = events[i];
    const Interval range{e.start_ns, e.end_ns};
    span.end = std::max(span.end, range.end);
    switch (e.op) {
      case DeviceOp::kKernel:
        kernels.Add(range);
        break;
      case DeviceOp::kComm:
        collectives.Add(range);
        break;
      case DeviceOp::kMemcpy:
      case DeviceOp::kMemset:
        copies.Add(range);
        if (e.copy == CopyKind::kHtoD) to_device.Add(range);
        break;
    }
  }
  compute = kernels.Take();
  comm = collectives.Take();
  copy = copies.Take();
  htod = to_device.Take();
}

TimeSplit SplitTime(const DeviceTimeline& timeline, Interval window) {
  TimeSplit split;
  split.window = window;
  split.compute = Clip(timeline.compute, window);
  split.comm = Clip(timeline.comm, window);
  split.exposed_comm = Difference(split.comm, split.compute);
  const IntervalSet kernels = Union(split.compute, split.exposed_comm);
  split.copy = Clip(timeline.copy, window);
  split.exposed_copy = Difference(split.copy, kernels);
  split.exposed_htod = Intersection(split.exposed_copy, timeline.htod);
  split.busy = Union(kernels, split.exposed_copy);
  split.idle = Difference(IntervalSet::UnionOf({window}), split.busy);
  return split;
}

std::vector<ProfiledStep> StepsOf(const Profile& profile, const ProfiledDevice& device) {
  std::vector<bool> drives(profile.processes.size() + 1, false);
  for (const DeviceEvent& e : device.events) {
    if (e.process < drives.size()) drives[e.process] = true;
  }
  std::vector<ProfiledStep> own;
  for (const ProfiledStep& step : profile.steps) {
    if (step.process < drives.size() && drives[step.process]) own.push_back(step);
  }
  return own.empty() ? profile.steps : own;
}

Interval StepWindow(const std::vector<ProfiledStep>& steps) {
  CHECK(!steps.empty());
  Interval window{steps.front().start_ns, steps.front().end_ns};
  for (const ProfiledStep& step : steps) {
    window.start = std::min(window.start, step.start_ns);
    window.end = std::max(window.end, step.end_ns);
  }
  return window;
}

}  // namespace idleburn
