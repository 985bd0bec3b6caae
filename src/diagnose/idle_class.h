#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "diagnose/time_set.h"

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
constexpr Trait TraitOf(IdleClass c) { return static_cast<Trait>(c); }

// Launch calls take 4 to 12 us as a rule; peers put the border between 30 and 100 us.
inline constexpr std::int64_t kLaunchLatencyNs = 30'000;

}  // namespace idleburn
