#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <type_traits>

#include "diagnose/time_set.h"

namespace idleburn {

// What stood between a device and its next event. Of what the host did before it launched that event, the first class
// of this order that any of its threads was in.
enum class IdleClass : std::underlying_type_t<Trait> {
  kDataloader = NumberOf(Trait::kDataloader),
  kSyncApi = NumberOf(Trait::kSyncApi),
  kMemcpyApi = NumberOf(Trait::kMemcpyApi),
  kCpuOp = NumberOf(Trait::kCpuOp),
  kHostOther = NumberOf(Trait::kHostOther),
  kLaunchLatency = NumberOf(Trait::kLaunchLatency),    // launched up to 30 us before
  kQueuedWait = NumberOf(Trait::kQueuedWait),          // longer before: the command existed, the device did not take it
  kNoLaunchRecord = NumberOf(Trait::kNoLaunchRecord),  // who launched the event, and when, is not in the file
  kTailHead = NumberOf(Trait::kTailHead)               // to the end of the steps: no event comes
};
inline constexpr std::size_t kIdleClasses = NumberOf(Trait::kCompute);
static_assert(kIdleClasses == NumberOf(Trait::kTailHead) + 1, "classes are numbered from 0 without a hole");
// As in reports: "dataloader", "launch_latency_le30us".
std::string_view Name(IdleClass c);
constexpr Trait TraitOf(IdleClass c) { return static_cast<Trait>(c); }

// Launch calls take 4 to 12 us as a rule; peers put the border between 30 and 100 us.
inline constexpr std::int64_t kLaunchLatencyNs = 30'000;

}  // namespace idleburn
