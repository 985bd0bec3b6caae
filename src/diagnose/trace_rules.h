// The rules that name causes in a trace: the facts they test, the time each claims, and thresholds. Rules are
// rows of a table; trace_causes.h applies them.

#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "diagnose/rank_join.h"
#include "diagnose/step_budget.h"
#include "diagnose/trace_budget.h"
#include "profile/profile.h"

namespace idleburn {

// The capacity of the link between host and device in one direction, in GB/s (10^9), by the profiler's name of
// the device. Absent for unlisted models.
std::optional<double> HostLinkGBs(std::string_view model);

// One device as the rules see it, in the window that decides: the steps if there are any.
struct TraceScene {
  const DeviceTrace& trace;
  const StepStatistics& steps;
  const PeerWait* peers = nullptr;  // null: this rank is analysed alone
  // Why it is alone although other ranks are given; empty: none are.
  std::string_view apart = {};
  // Share of kernel time whose kernel names are not in the file.
  double nameless = 0;
  // How many ranks the window sums up, and who they are: "all 8 ranks". Empty: one device of one profile.
  std::int64_t ranks = 1;
  std::string_view whose = {};

  // The instants of the window whose traits pass `test`.
  template <typename Test>
  [[nodiscard]] TimeSet Where(Test test) const {
    return trace.time.Where(test);
  }
  // As a share of the window.
  [[nodiscard]] double Share(const TimeSet& time) const { return trace.budget.Share(time.TotalNs()); }
};

// Figures that the rules test. Shares refer to the window.
enum class Fact : std::uint8_t {
  kWaitsPerHost,
  kQueuedWait,
  kAllocations,
  kFirstUseLater,
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
inline constexpr std::size_t kFacts = static_cast<std::size_t>(Fact::kFp32) + 1;

// The peak share of the device's memory that the framework's allocator held; absent if not in the profile.
std::optional<double> MemoryHeld(const ProfiledDevice& device);

// One value for each fact; absent if not in the profile.
using Facts = std::array<std::optional<double>, kFacts>;
// `taken` is time that earlier rules explain, which is no part of any other share.
Facts MeasureFacts(const TraceScene& scene, const TimeSet& taken = {});
// Whether the window is too small for a verdict on recurring causes: under a millisecond, or fewer than ten kernels and
// copies in fewer steps than statistics need. What it shows of first use and of a cut holds all the same.
bool TooShort(const TraceScene& scene);
// "idle time inside the data loader: 4.65 %"; "...: not measured".
std::string Describe(Fact fact, std::optional<double> value);
// A threshold in the same unit: "10 %".
std::string DescribeBound(Fact fact, double value);

// The functions below return parts of the window. Those of idle time are empty if it could not be attributed.
// This one is idle time in a loader that somebody waits for. A loader that fetches ahead in its own thread does
// not count.
TimeSet LoaderTime(const TraceScene& scene);
// Idle time in operators, in other host work and in launch latency, including host work while a loader fetched
// ahead.
TimeSet HostTime(const TraceScene& scene);
// HostTime without gaps inside graphs, which no launch can shorten.
TimeSet LaunchTime(const TraceScene& scene);
// Idle time in a synchronising call of the thread that launched the next event.
TimeSet SyncTime(const TraceScene& scene);
// Idle time before a launch, in calls that allocate or free device memory. Excludes the first step, in which a
// caching allocator fills.
TimeSet AllocationTime(const TraceScene& scene);
// Idle time in which code was loaded, compiled or recorded for the first time.
TimeSet FirstUseTime(const TraceScene& scene);
// Idle time in calls that take or return memory of any kind.
TimeSet MemoryCallTime(const TraceScene& scene);
// Idle time in a wait for work that was launched before recording began.
TimeSet CutTime(const TraceScene& scene);
// Copies from the device to the host that nothing hides, and idle time inside the calls that make them.
TimeSet DtohTime(const TraceScene& scene);
// Copies from host to device that nothing hides, and idle time inside copy calls, but those of DtohTime.
TimeSet HtodTime(const TraceScene& scene);
// Only those copies.
TimeSet ExposedHtodTime(const TraceScene& scene);
// Time in which commands waited on the device after their call had returned.
TimeSet QueuedTime(const TraceScene& scene);
// Idle time with launched work queued, but for replays of graphs, which belong to the host's share.
TimeSet QueuedShare(const TraceScene& scene);
// Communication that compute does not hide.
TimeSet ExposedComm(const TraceScene& scene);
// Exposed communication in which this rank waited for others; empty if it is analysed alone.
TimeSet PeerTime(const TraceScene& scene);
// Exposed communication without PeerTime.
TimeSet TransferTime(const TraceScene& scene);
// Time in which the device computes.
TimeSet ComputeTime(const TraceScene& scene);
// One class of idle time.
TimeSet IdleTime(const TraceScene& scene, IdleClass c);

// How to record more with the profiler that made a file. Users should not need another tool.
struct RecordAgain {
  std::string_view tool;  // "nsys profile"
  // The option that makes it record the GPU: "--trace=cuda".
  std::string_view with;
  std::string_view gpu;    // the whole command for that
  std::string_view names;  // to name what the host does
  std::string_view early;  // to include the launches of all work
};
// The row of a profiler.
const RecordAgain& HowToRecord(ProfilerKind profiler);

// A threshold that a fact must meet.
struct FactTest {
  Fact fact;
  enum class Side : std::uint8_t { kAtLeast, kAbove, kBelow } side;
  double border;

  [[nodiscard]] bool Holds(double value) const {
    if (side == Side::kBelow) return value < border;
    return side == Side::kAtLeast ? value >= border : value > border;
  }
};

// A cause, the time it claims, and what must or must not be seen for it (docs/trace-diagnosis.md, "Rules").
struct TraceRule {
  std::string_view cause;   // id in the cause table
  std::string_view claims;  // the claimed time in words
  TimeSet (*time)(const TraceScene&);
  double least;                          // required share of the window
  std::span<const FactTest> required;    // all must be measured and hold
  std::span<const FactTest> any_of;      // one must hold, if there are any
  std::span<const FactTest> refuted_by;  // none may hold
  // How much of the claimed time a fix can recover.
  enum class Gain : std::uint8_t {
    kAll,       // all of it
    kOverlap,   // at most what exceeds the longer of copies and kernels once they overlap
    kAllRanks,  // what repairing the latest rank gives, if every rank was traced; otherwise unknown
    kSteady,    // its share of the steps after the first: a start does not recur
    kNone,      // nothing recurs
    kUnknown
  } gain;
  // The traces of all ranks together are a second signal.
  bool peers_confirm = false;
  // It explains time before all shares are tested, and does not need a long window.
  bool first = false;
  // The title of its finding; empty: that of the cause. The cause "unknown" needs one.
  std::string_view title = {};
};

// The rules in the order in which they claim time. Later rules only see what is left.
std::span<const TraceRule> TraceRules();

// A part of lost time that must be mentioned, whoever claims it.
struct TestedShare {
  std::string_view id;
  std::string_view name;  // "idle time at the end of the steps"
  TimeSet (*time)(const TraceScene&);
  // The measurement that would tell more; empty: see `record`.
  std::string_view next;
  std::string_view RecordAgain::*record = nullptr;
};
std::span<const TestedShare> TestedShares();

}  // namespace idleburn
