// The figures of one traced device: which window they refer to, how long its steps take, and where the time of
// the window went.

#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "diagnose/time_set.h"
#include "profile/interval_set.h"
#include "profile/profile.h"

namespace idleburn {

// Which part of a capture is analysed. Between its first and last event a device looks busy, even if most of
// each step passed before the first launch. The steps are the host's, and device work may run past the last
// step. So every figure names its window.
enum class Window : std::uint8_t {
  kGpuSpan,       // from the start of the first device event to the end of the last
  kProfilerSteps  // from the start of the first profiled step to the end of the last
};
std::string_view Name(Window window);

// Nanoseconds as milliseconds.
inline double Milliseconds(std::int64_t ns) { return static_cast<double>(ns) / 1e6; }

// The span of a device with at least one event.
Interval EventSpan(const ProfiledDevice& device);
// The steps of the processes that drive the device. If its own processes have no steps, all steps of the
// profile. Where devices have steps of their own, only these: another's steps tell nothing.
std::vector<ProfiledStep> StepsOf(const Profile& profile, const ProfiledDevice& device);
// From the first start to the last end. At least one step.
Interval StepWindow(const std::vector<ProfiledStep>& steps);

// One step of the training loop.
struct StepTime {
  std::int64_t number = 0;
  Interval at;               // on the host
  std::int64_t busy_ns = 0;  // of the device, within the step
  bool counted = true;       // part of the statistics
  // Counted, but far from the other steps.
  bool outlier = false;

  [[nodiscard]] std::int64_t IdleNs() const { return at.Ns() - busy_ns; }
};

// How long steps take. The first profiled step contains warm-up, and the last one the profiler's shutdown. So
// neither counts if there are at least four steps. It uses the median, because one long step moves the mean.
struct StepStatistics {
  std::vector<StepTime> steps;
  std::int64_t counted = 0;
  std::optional<double> median_ns;  // absent without steps
  // Median absolute deviation from the median.
  std::optional<double> mad_ns;
  // 2 x MAD / median: smaller shares may be chance; 0 with too few steps.
  double noise = 0;

  // Fewer steps show no spread, and findings that rest on them are at most likely.
  static constexpr std::size_t kEnough = 4;
  [[nodiscard]] bool Enough() const { return steps.size() >= kEnough; }
};

// Measures the steps. `busy_by_step` holds the nanoseconds in which the device was busy in each.
StepStatistics MeasureSteps(const std::vector<ProfiledStep>& steps, const std::vector<std::int64_t>& busy_by_step);

// "6 steps, median 126.6 ms; step 4 is an outlier (163.5 ms)"
std::string Describe(const StepStatistics& statistics);

// A host function or annotation that was active during a gap.
struct CoveringFrame {
  std::string name;
  std::int64_t covered_ns = 0;  // part of the gap
};

// Where a thread was during a gap: the innermost Python frame (or annotation) that covers nearly all of it,
// then the innermost that covers half of it if that is another one. Linear in the stored frames, so call it
// only for the few gaps worth naming.
std::vector<CoveringFrame> FramesOver(const std::vector<HostFrame>& by_start, const std::vector<std::string>& names,
                                      Interval gap, std::uint32_t thread);

// "preprocess (218 ms), most of it in resize (178 ms)"; "" without frames. `exact` has whole microseconds, for
// programs.
std::string Describe(const std::vector<CoveringFrame>& frames, bool exact = false);

// What kept a device waiting for its next event. If several host activities precede the launch, the first class
// in this order counts that any thread was in.
enum class IdleClass : std::underlying_type_t<Trait> {
  kDataloader = NumberOf(Trait::kDataloader),
  kSyncApi = NumberOf(Trait::kSyncApi),
  kMemcpyApi = NumberOf(Trait::kMemcpyApi),
  kCpuOp = NumberOf(Trait::kCpuOp),
  kHostOther = NumberOf(Trait::kHostOther),
  kLaunchLatency = NumberOf(Trait::kLaunchLatency),  // launched at most 30 us before
  kQueuedWait = NumberOf(Trait::kQueuedWait),  // launched earlier: the command existed, the device did not start it
  kNoLaunchRecord = NumberOf(Trait::kNoLaunchRecord),  // the file does not contain the launch
  kTailHead = NumberOf(Trait::kTailHead)               // to the end of the steps: no event follows
};
inline constexpr std::size_t kIdleClasses = NumberOf(Trait::kCompute);
static_assert(kIdleClasses == NumberOf(Trait::kTailHead) + 1, "classes are numbered from 0 without a hole");
// The name in reports: "dataloader", "launch_latency_le30us".
std::string_view Name(IdleClass c);
constexpr Trait ToTrait(IdleClass c) { return static_cast<Trait>(c); }

// Launch calls usually take 4 to 12 us. Comparable tools set the limit between 30 and 100 us.
inline constexpr std::int64_t kLaunchLatencyNs = 30'000;

// Kernels that overlap the window, including communication. Durations are not clipped to the window. Kernels of
// length 0 count, because old profilers tick in microseconds.
struct KernelFigures {
  std::int64_t count = 0;
  double median_ns = 0;
  double mean_ns = 0;
  std::int64_t under_10us = 0;
};

// Copies of one kind that overlap the window: sums, not unions.
struct CopyFigures {
  CopyKind kind = CopyKind::kNone;
  MemoryKind from = MemoryKind::kUnknown;
  MemoryKind to = MemoryKind::kUnknown;
  std::int64_t count = 0;
  std::int64_t ns = 0;
  std::int64_t bytes = 0;
  double median_bytes = 0;
};

// The idle gaps of a window.
struct GapFigures {
  std::int64_t count = 0;
  std::int64_t longest_ns = 0;
  std::int64_t long_count = 0;  // at least 1 ms
  std::int64_t long_ns = 0;
};

// One stream of the device.
struct StreamFigures {
  std::uint32_t stream = 0;
  // Union of its events that overlap the window, not clipped.
  std::int64_t busy_ns = 0;
};

// One of the longest idle gaps.
struct LargeGap {
  Interval at;
  IdleClass mainly = IdleClass::kHostOther;  // the class of most of it
  std::vector<CoveringFrame> frames;         // only for material gaps
  TimeSet time;                              // its instants by traits
};

// Where the time of one device went in one window. All figures are exact: span = compute + exposed_comm +
// exposed_copy + idle, and idle is the sum of its classes. Example: a span of 100 ms with 70 ms compute, 10 ms
// exposed communication and 5 ms exposed copies has 15 ms idle.
struct TraceBudget {
  std::int64_t device = 0;
  Window window = Window::kGpuSpan;
  Interval span;
  std::int64_t busy_ns = 0;
  std::int64_t compute_ns = 0;
  std::int64_t comm_ns = 0;
  std::int64_t comm_overlap_ns = 0;  // communication hidden by compute
  std::int64_t exposed_comm_ns = 0;
  std::int64_t copy_ns = 0;  // union of copies and memsets
  std::int64_t exposed_copy_ns = 0;
  std::int64_t idle_ns = 0;

  // Absent: correlation ids are ambiguous.
  std::optional<std::array<std::int64_t, kIdleClasses>> idle_by_class;
  std::int64_t in_launch_call_ns = 0;  // part of the queued wait
  // Idle time in which the profiler itself worked.
  std::int64_t profiler_overhead_ns = 0;

  KernelFigures kernels;
  GapFigures gaps;
  std::vector<CopyFigures> copies;     // ordered by kind, from, to
  std::vector<StreamFigures> streams;  // by stream
  std::vector<LargeGap> largest_gaps;  // the longest first

  // As a share of the span; 0 for a window without length.
  [[nodiscard]] double Share(std::int64_t ns) const {
    return span.Ns() == 0 ? 0 : static_cast<double>(ns) / static_cast<double>(span.Ns());
  }
  // The idle time of a class. Requires idle_by_class.
  [[nodiscard]] std::int64_t IdleNs(IdleClass c) const { return (*idle_by_class)[static_cast<std::size_t>(c)]; }
};

}  // namespace idleburn
