#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "diagnose/device_timeline.h"
#include "diagnose/launch_index.h"
#include "profile/profile.h"

namespace idleburn {

// What stood between a device and its next event. Of what the host did before it launched that event, the first class
// of this order that any of its threads was in.
enum class IdleClass : std::uint8_t {
  kDataloader,
  kSyncApi,
  kMemcpyApi,
  kCpuOp,
  kHostOther,
  kLaunchLatency,   // launched up to 30 us before
  kQueuedWait,      // launched longer before: the command existed and the device did not take it
  kNoLaunchRecord,  // who launched the event, and when, is not in the file
  kTailHead         // to the end of the steps: no event comes
};
inline constexpr std::size_t kIdleClasses = 9;
// As in reports: "dataloader", "launch_latency_le30us".
std::string_view Name(IdleClass c);

// Launch calls take 4 to 12 us as a rule; peers put the border between 30 and 100 us.
inline constexpr std::int64_t kLaunchLatencyNs = 30'000;

struct IdleGap {
  Interval at;
  const HostCall* launch = nullptr;  // of the event that ends the gap, if the file has it
  CopyKind copy = CopyKind::kNone;   // what the event copies
  bool inside_graph = false;         // an earlier event came of the same launch: a dependency, no launch cost
  bool tail = false;

  // The start of the launch within the gap; the gap's end without one.
  [[nodiscard]] std::int64_t LaunchedNs() const {
    return launch == nullptr ? at.end : std::clamp(launch->start_ns, at.start, at.end);
  }
};

// The idle time of a window, each nanosecond in exactly one class.
struct IdleAttribution {
  std::vector<IdleGap> gaps;  // by time
  std::array<IntervalSet, kIdleClasses> by_class;
  IntervalSet in_launch_call;  // the part of kQueuedWait inside the launch call itself: the host is at work
  IntervalSet in_htod_call;    // of it, inside calls that copy from the host to the device
  IntervalSet inside_graph;    // gaps between events of one launch

  [[nodiscard]] const IntervalSet& Of(IdleClass c) const { return by_class[static_cast<std::size_t>(c)]; }
};

// Absent if correlation ids are ambiguous: then no gap can be laid at anyone's door.
std::optional<IdleAttribution> AttributeIdle(const Profile& profile, const ProfiledDevice& device,
                                             const DeviceTimeline& timeline, const LaunchIndex& launches, Window window,
                                             const TimeSplit& split);

}  // namespace idleburn
