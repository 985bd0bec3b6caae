#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "diagnose/peer_wait.h"
#include "diagnose/step_budget.h"
#include "diagnose/step_statistics.h"

namespace idleburn {

// One device as the rules see it, in the window that decides: the steps if there are any.
struct TraceScene {
  const DeviceTrace& trace;
  const StepStatistics& steps;
  const PeerWait* peers = nullptr;  // null: this rank is seen alone
  std::string_view apart = {};      // why it is, though others are given; empty: none are
  double nameless = 0;              // of the kernels' time: theirs whose names are not in the file

  // The time of the window whose traits hold `test`.
  template <typename Test>
  [[nodiscard]] TimeSet Where(Test test) const {
    return trace.time.Where(test);
  }
  [[nodiscard]] double Share(const TimeSet& time) const { return trace.budget.Share(time.TotalNs()); }
};

// Figures that the rules test. Shares are of the window.
enum class Fact : std::uint8_t {
  kLoader,
  kSyncApi,
  kQueuedWait,
  kHostGaps,
  kLargestHostGap,
  kKernelPerLaunch,
  kHtodMedianBytes,
  kHtodPageable,
  kHtodPinned,
  kLinkUse,
  kMemoryHeld,
  kFp32
};
inline constexpr std::size_t kFacts = 12;

// Share of the device's memory that the framework's allocator held at most; absent: not in the profile.
std::optional<double> MemoryHeld(const ProfiledDevice& device);

// Absent: not in the profile.
using Facts = std::array<std::optional<double>, kFacts>;
Facts MeasureFacts(const TraceScene& scene);
// "idle time inside the data loader: 4.65 %"; "...: not measured".
std::string Describe(Fact fact, std::optional<double> value);
// A bound on it in the same unit: "10 %".
std::string DescribeBound(Fact fact, double value);

// Parts of the window. Those of idle time are empty where it could not be attributed.
// Idle time in a loader that somebody waits for: one that fetches ahead in a thread of its own only says that it is
// at work.
TimeSet LoaderTime(const TraceScene& scene);
// Operators, other work of the host, and launch latency; what the host did while a loader fetched ahead too.
TimeSet HostTime(const TraceScene& scene);
// The same without the gaps inside graphs, which no launch can shorten.
TimeSet LaunchTime(const TraceScene& scene);
// Idle time of a synchronising call on the thread that launched what came next.
TimeSet SyncTime(const TraceScene& scene);
// Idle time, before a launch, in calls that take device memory or give it back; without the first step, in which an
// allocator that caches fills.
TimeSet AllocationTime(const TraceScene& scene);
// Copies from the host to the device that nothing hides, and idle time inside copy calls.
TimeSet HtodTime(const TraceScene& scene);
TimeSet ExposedHtodTime(const TraceScene& scene);
// Commands that waited on the device after the call that issued them had returned.
TimeSet QueuedTime(const TraceScene& scene);
// Communication that compute does not hide.
TimeSet ExposedComm(const TraceScene& scene);
// Exposed communication in which this rank waited for others; empty if it is seen alone.
TimeSet PeerTime(const TraceScene& scene);
// Exposed communication without PeerTime.
TimeSet TransferTime(const TraceScene& scene);
TimeSet ComputeTime(const TraceScene& scene);
// One class of idle time; empty where it could not be attributed.
TimeSet IdleTime(const TraceScene& scene, IdleClass c);

}  // namespace idleburn
