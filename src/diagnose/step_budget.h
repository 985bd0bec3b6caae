#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "diagnose/idle_attribution.h"
#include "diagnose/row_figures.h"
#include "diagnose/time_cut.h"
#include "diagnose/time_set.h"
#include "diagnose/trace_budget.h"
#include "diagnose/trace_rows.h"
#include "diagnose/trace_slice.h"
#include "diagnose/window_sums.h"

namespace idleburn {

// One device of a profile, seen through one window: the time behind its budget. Refers to the profile.
struct DeviceTrace {
  const Profile* profile = nullptr;
  const ProfiledDevice* device = nullptr;
  Window window = Window::kGpuSpan;
  std::vector<ProfiledStep> steps;  // of the device's processes; none in Window::kGpuSpan
  std::vector<std::int64_t> busy_by_step;
  TimeSet time;        // all of the window
  TimeSet first_step;  // of it, the first step's; empty without steps
  TraceBudget budget;
  std::int64_t launch_gaps = 0;            // gaps that hold launch time
  std::int64_t largest_launch_gap_ns = 0;  // of that time, in the largest gap of each step
  std::optional<double> htod_median_bytes;
  std::optional<double> launch_distance_ns;  // median, of the starts of successive kernel launches

  // From the second step on an allocator that caches has no reason to ask for memory.
  [[nodiscard]] std::int64_t SteadyNs() const { return steps.size() > 1 ? steps[1].start_ns : budget.span.start; }
};

// One device of a profile and what all its windows share. In memory that does not follow the length of a window: it is
// worked out in slices. Refers to the profile and must not outlive it.
class TracedDevice {
 public:
  static constexpr std::size_t kSliceEvents = std::size_t{1} << 14;
  TracedDevice(const Profile& profile, const ProfiledDevice& device, const LaunchIndex& launches,
               const StartOrder<HostCall>& calls, std::size_t slice_events = kSliceEvents);

  [[nodiscard]] DeviceTrace GpuSpan(const IntervalSet* peer_wait = nullptr) const;
  // Absent without steps. Where there are steps, they decide.
  [[nodiscard]] std::optional<DeviceTrace> Steps(const IntervalSet* peer_wait = nullptr) const;
  // The same window as if `removed`, some of its time in which the device does not compute, had not happened.
  [[nodiscard]] DeviceTrace Without(const DeviceTrace& trace, const TimeSet& removed) const;

 private:
  [[nodiscard]] DeviceTrace Trace(const WindowSpec& spec, std::vector<ProfiledStep> steps, const TimeCut* cut) const;
  [[nodiscard]] Attribution AttributionOf(const WindowSpec& spec, const TimeCut* cut) const;
  [[nodiscard]] WindowSums Sum(const WindowSpec& spec, const TimeCut* cut, DeviceTrace* trace,
                               std::vector<HostFrame>* frames) const;
  [[nodiscard]] std::vector<StreamFigures> MeasureStreams(Interval window) const;

  TraceRows rows_;
  std::size_t slice_events_;
  bool several_processes_;
};

}  // namespace idleburn
