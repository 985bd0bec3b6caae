// Computes the budget of one traced device. It walks a window slice by slice, sums up what each slice shows,
// and can repeat the walk with some time cut out, to predict what a fix would leave.

#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <tuple>
#include <unordered_map>
#include <vector>

#include "diagnose/idle_time.h"
#include "diagnose/time_set.h"
#include "diagnose/trace_budget.h"
#include "diagnose/trace_rows.h"
#include "profile/profile.h"
#include "stats/order.h"

namespace idleburn {

// Instants of a window that are cut out of the time line, as if they had not happened. Later instants move up,
// on the host and on the device alike, and ranges inside the cut become empty. This never removes compute time
// or the last nanosecond of a slice.
struct TimeCut {
  Attribution recorded;  // of the window with all its time
  TimeSet removed;
};

// Applies a cut slice by slice, in order.
class SliceCutter {
 public:
  SliceCutter(const TraceRows& rows, const TimeCut& cut) : rows_(rows), cut_(cut) {}
  void Cut(TraceSlice* slice);

 private:
  const TraceRows& rows_;
  const TimeCut& cut_;
  std::int64_t before_ = 0;  // cut from earlier slices
};

// Moves single instants along, as the slices that contain them pass.
class MovedInstants {
 public:
  explicit MovedInstants(std::vector<std::int64_t*> instants);
  void Move(const TraceSlice& slice);

 private:
  std::vector<std::int64_t*> instants_;  // ascending
  std::size_t next_ = 0;
};

// Calls `visit(const TraceSlice&)` for each slice of a window. Cuts time out unless `cut` is null.
template <typename Visit>
void ForEachSlice(const TraceRows& rows, const WindowSpec& spec, const TimeCut* cut, Visit visit) {
  Slicer slicer(rows, spec);
  TraceSlice slice;
  if (cut == nullptr) {
    while (slicer.Next(&slice)) visit(slice);
    return;
  }
  SliceCutter cutter(rows, *cut);
  while (slicer.Next(&slice)) {
    cutter.Cut(&slice);
    visit(slice);
  }
}

// Figures of single rows of a window.
struct RowFigures {
  KernelFigures kernels;
  std::vector<CopyFigures> copies;  // ordered by kind, from, to
  // Copies to the device from any memory.
  std::optional<double> htod_median_bytes;
  // Median interval between successive kernel launches.
  std::optional<double> launch_distance_ns;
};

// Computes them in one or two walks over the slices of a window. The second walk makes medians exact in bounded
// memory.
class RowMeter {
 public:
  explicit RowMeter(const ProfiledDevice& device) : device_(device) {}
  // The first walk: each slice.
  void Count(const TraceSlice& slice) { Walk(slice, &WalkedMedian::Count); }
  // Ends the first walk. Returns false if no second one is needed.
  [[nodiscard]] bool Narrow();
  // The second walk: each slice again.
  void Collect(const TraceSlice& slice) { Walk(slice, &WalkedMedian::Collect); }
  // The result.
  [[nodiscard]] RowFigures Figures() const;

 private:
  using Take = void (WalkedMedian::*)(std::int64_t);
  // A device event that crosses the border of slices.
  struct Open {
    std::int64_t ns = 0;
    bool seen = false;  // in the window
  };
  struct Copies {
    CopyFigures figures;
    WalkedMedian bytes;
  };
  void Walk(const TraceSlice& slice, Take take);
  void AddEvent(const DeviceEvent& event, std::int64_t ns, Take take);

  const ProfiledDevice& device_;
  bool first_walk_ = true;
  KernelFigures kernels_;
  std::int64_t kernel_ns_ = 0;
  WalkedMedian kernel_median_;
  std::map<std::tuple<CopyKind, MemoryKind, MemoryKind>, Copies> copies_;
  WalkedMedian htod_bytes_;
  WalkedMedian launch_distance_;
  std::optional<std::int64_t> launched_;  // the last launch
  std::unordered_map<std::uint32_t, Open> open_;
};

// An idle gap with the traits of its time.
struct KnownGap {
  Interval at;
  TimeSet time;
  std::optional<std::uint32_t> thread;  // that launched the event at its end
};

// Idle time while the host prepares launches. Gaps inside graphs do not count, because no launch can shorten
// them.
bool IsLaunchTime(Traits traits);
// The part of it that comes again: without first use, calls for memory, and waits for work that is not in the file.
bool IsRecurringLaunch(Traits traits);

// Sums up a window slice by slice.
class WindowSums {
 public:
  explicit WindowSums(std::size_t steps) : busy_by_step_(steps), largest_by_step_(std::max<std::size_t>(steps, 1)) {}
  // Adds a slice. `steps` are ordered by start; those after the slice may still have recorded times.
  void Add(const TraceSlice& slice, const SliceTraits& traits, const std::vector<ProfiledStep>& steps);

  [[nodiscard]] TimeSet time() const { return TimeSet(ns_); }
  [[nodiscard]] TimeSet first_step() const { return TimeSet(first_step_ns_); }
  [[nodiscard]] Interval span() const { return span_; }
  [[nodiscard]] const GapFigures& gaps() const { return gaps_; }
  // The longest gaps, longest first.
  [[nodiscard]] const std::vector<KnownGap>& longest() const { return longest_; }
  [[nodiscard]] const std::vector<std::int64_t>& busy_by_step() const { return busy_by_step_; }
  // The number of gaps with launch time, and how much launch time lies in the largest gap of each step.
  [[nodiscard]] std::int64_t launch_gaps() const { return launch_gaps_; }
  [[nodiscard]] std::int64_t LargestLaunchGapsNs() const;
  // The thread whose launches end most gaps. It tells what the host did in gaps without a known launch.
  [[nodiscard]] std::uint32_t LaunchingThread() const;

 private:
  void AddGap(const IdleGap& gap, std::int64_t launch_ns, const std::vector<ProfiledStep>& steps);
  void KeepLongest(const SliceTraits& traits);

  std::optional<std::int64_t> start_;
  Interval span_;
  std::unordered_map<Traits, std::int64_t> ns_;
  std::unordered_map<Traits, std::int64_t> first_step_ns_;
  GapFigures gaps_;
  std::vector<KnownGap> longest_;
  std::vector<std::int64_t> busy_by_step_;
  std::vector<std::int64_t> largest_by_step_;
  std::int64_t launch_gaps_ = 0;
  std::map<std::uint32_t, std::int64_t> launches_;  // that end gaps, by thread
};

// One device of a profile in one window: its budget and the time behind it. Refers to the profile.
struct DeviceTrace {
  const Profile* profile = nullptr;
  const ProfiledDevice* device = nullptr;
  Window window = Window::kGpuSpan;
  std::vector<ProfiledStep> steps;  // of the device's processes; none for Window::kGpuSpan
  std::vector<std::int64_t> busy_by_step;
  TimeSet time;  // the whole window
  // Part in the first step; empty without steps.
  TimeSet first_step;
  TraceBudget budget;
  std::optional<FirstUse> first;  // of the processes that drive the device; absent for several ranks together
  std::int64_t allocations = 0;   // calls that take or return memory, in the window
  std::int64_t launch_gaps = 0;   // gaps with recurring launch time
  // Launch time in the largest gap of each step.
  std::int64_t largest_launch_gap_ns = 0;
  std::optional<double> htod_median_bytes;
  // Median interval between successive kernel launches.
  std::optional<double> launch_distance_ns;

  // From the second step on, a caching allocator has no reason to request memory.
  [[nodiscard]] std::int64_t SteadyNs() const { return steps.size() > 1 ? steps[1].start_ns : budget.span.start; }
};

// One device of a profile, with what all its windows share. Work happens in slices, so memory does not grow
// with the window. Refers to the profile and must not outlive it.
class TracedDevice {
 public:
  static constexpr std::size_t kSliceEvents = std::size_t{1} << 14;
  TracedDevice(const Profile& profile, const ProfiledDevice& device, const LaunchIndex& launches,
               const StartOrder<HostCall>& calls, std::size_t slice_events = kSliceEvents);

  // The window from the first to the last device event.
  [[nodiscard]] DeviceTrace GpuSpan(const IntervalSet* peer_wait = nullptr) const;
  // The window of the steps, which decides if there are steps; absent without steps.
  [[nodiscard]] std::optional<DeviceTrace> Steps(const IntervalSet* peer_wait = nullptr) const;
  // The same window as if the instants in `removed` had not happened. The device does not compute in any of
  // them. This predicts what a fix would leave.
  [[nodiscard]] DeviceTrace Without(const DeviceTrace& trace, const TimeSet& removed) const;
  // Visits each idle gap of the trace's window, and in it each stretch of constant traits, in order of time. Defined in
  // diagnose/gap_list.cc.
  using TakeIdle = std::function<void(Interval gap, Interval at, Traits what)>;
  void VisitIdle(const DeviceTrace& trace, const IntervalSet* peer_wait, const TakeIdle& take) const;

 private:
  [[nodiscard]] DeviceTrace Trace(const WindowSpec& spec, std::vector<ProfiledStep> steps, const TimeCut* cut) const;
  [[nodiscard]] Attribution Attribute(const WindowSpec& spec, const TimeCut* cut) const;
  [[nodiscard]] WindowSums Sum(const WindowSpec& spec, const TimeCut* cut, DeviceTrace* trace,
                               std::vector<HostFrame>* frames) const;
  [[nodiscard]] std::vector<StreamFigures> MeasureStreams(Interval window) const;

  TraceRows rows_;
  std::size_t slice_events_;
  bool several_processes_;
};

}  // namespace idleburn
