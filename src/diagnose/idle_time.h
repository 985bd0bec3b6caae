#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "classify/cause_limits.h"
#include "classify/totals.h"
#include "diagnose/make_finding.h"
#include "diagnose/scene.h"
#include "diagnose/time_set.h"
#include "diagnose/trace_budget.h"
#include "diagnose/trace_rows.h"

// Idle GPUs: stretches of idle time, who held the GPU meanwhile, and how much of it somebody could have used.
namespace idleburn {
// Idle time of one device in stretches of at least kIdleStretchSeconds, by who held the GPU. Nanoseconds.
struct IdleStretches {
  std::int64_t held_ns = 0;   // a process held memory
  std::int64_t empty_ns = 0;  // no process held memory
  // Nothing tells whether a process held it.
  std::int64_t unknown_ns = 0;
  // Further idle time that may lie in such stretches: the timeline is too coarse.
  std::int64_t unclear_ns = 0;
  // The buckets of the timeline that belong to stretches.
  std::vector<bool> marked;

  [[nodiscard]] std::int64_t TotalNs() const { return held_ns + empty_ns + unknown_ns; }
};

// Finds stretches in the buckets of the timeline, so each end is exact to one bucket. Buckets in `taken` belong
// to another cause and end a stretch. `place_runs`: where buckets are too coarse, runs at 0 % count as well, in
// buckets that stay unmarked. Set it to false if another cause may claim the rest of such a bucket.
IdleStretches FindIdleStretches(const DeviceTotals& totals, const std::vector<bool>& taken = {},
                                bool place_runs = true);

// Groups the GPUs of a run into jobs, as positions in RunResult::devices. If an input names owners, GPUs that
// share a job or pod belong together, directly or through others. A GPU without an owner is alone. If no input
// names owners, all GPUs in use form one job, and each unused GPU (TakesPart) is alone.
//
// Two jobs count as one if they share a GPU at different times, or if a log without owners holds both. Advice
// to stop is then missing, and never wrong.
std::vector<std::vector<std::size_t>> GroupJobs(const Scene& scene);

// Idle time of a GPU that somebody could have used: runs in which all GPUs of its job were at exactly 0 % for
// Thresholds::idle_after or longer. Unobserved time ends a run.
struct StopTime {
  std::vector<ZeroRun> runs;  // of the job, in time order
  // The GPU had such runs, but never together with its whole job.
  bool peers_work = false;
  std::size_t job = 0;  // number of GPUs of the job
};
// One for each device of the run, in its order.
std::vector<StopTime> FindStopTimes(const Scene& scene);

// The time of runs beyond the first Thresholds::idle_grace of each. Buckets in `taken` belong to another cause.
// Example: two runs of 30 and 40 minutes with a grace of 5 minutes give 60 minutes.
std::int64_t BeyondGrace(const Thresholds& thresholds, const StopTime& stop, const Timeline& timeline,
                         const std::vector<bool>& taken);

// Why no GPU of the run has such a run; empty if one does.
std::string WhyNoStop(const Scene& scene);

// The idle time that findings claim on each device, and the waste of stretches too short to be named.
struct IdleClaim {
  WasteLeft* waste;
  DeviceShares ns = {};
  DeviceShares unnamed_waste = {};
};

// Names the idle stretches of GPUs that are held, of GPUs that are empty, and of GPUs whose holder is unknown. Returns
// the time it claims, and adds to `unclear` the idle time that the timeline is too coarse to place.
IdleClaim FindIdle(const Scene& scene, Claims& claims, std::int64_t* unclear, std::vector<Finding>& findings);

// Why a device was idle: finds for each idle gap what the host did before the launch that ended it.

// A stretch in which the device does nothing.
struct IdleGap {
  Interval at;
  const HostCall* launch = nullptr;  // of the event that ends the gap, if the file contains it
  Interval call;                     // of the launch, within the slice
  CopyKind copy = CopyKind::kNone;   // what that event copies
  // An earlier event has the same launch: a dependency, not a launch cost.
  bool inside_graph = false;
  bool tail = false;
  bool replay = false;  // the launch is that of a graph, and the event its first

  // From the start of the gap to the launch; empty without a launch.
  [[nodiscard]] Interval BeforeLaunch() const {
    return {at.start, launch == nullptr ? at.start : std::clamp(call.start, at.start, at.end)};
  }
};

// How the idle time of a window is attributed. It is the same for all slices.
struct Attribution {
  Window window = Window::kGpuSpan;
  // False: ambiguous correlation ids prevent attribution.
  bool possible = true;
  // Processes whose launches end gaps; empty: all.
  std::vector<bool> drivers;
  // From here on a caching allocator has no reason to request memory.
  std::int64_t steady_ns = 0;
};

// The instants of a slice by their traits.
struct SliceTraits {
  std::array<IntervalSet, kTraits> of;
  IntervalSet busy;
  std::vector<IdleGap> gaps;  // by time

  IntervalSet& Of(Trait t) { return of[static_cast<std::size_t>(t)]; }
};
// Attributes the time of a slice (docs/trace-diagnosis.md, "The budget"). If attribution is impossible, only the
// traits that need no launch are set.
SliceTraits FindTraits(const TraceRows& rows, const TraceSlice& slice, const Attribution& attribution);

// Adds the processes whose launches end gaps in the slice, and notes ambiguity.
void AddDrivers(const TraceRows& rows, const TraceSlice& slice, Attribution* attribution);

// Calls `visit(Interval, Traits)` for every stretch of `within` with constant traits, in time order.
template <typename Visit>
void ForEachStretch(const std::array<IntervalSet, kTraits>& sets, Interval within, Visit visit) {
  struct Cursor {
    std::span<const Interval> parts;
    Traits bit;
  };
  std::vector<Cursor> cursors;
  for (std::size_t t = 0; t < kTraits; ++t) {
    std::span<const Interval> parts = sets[t].parts();
    const auto first =
        std::partition_point(parts.begin(), parts.end(), [&](const Interval& i) { return i.end <= within.start; });
    parts = parts.subspan(static_cast<std::size_t>(first - parts.begin()));
    if (!parts.empty()) cursors.push_back({parts, Traits{1} << t});
  }
  for (std::int64_t at = within.start; at < within.end;) {
    std::int64_t next = within.end;
    Traits traits = 0;
    for (Cursor& c : cursors) {
      if (!c.parts.empty() && c.parts.front().end <= at) c.parts = c.parts.subspan(1);
      if (c.parts.empty()) continue;
      const Interval& part = c.parts.front();
      if (part.start <= at) traits |= c.bit;
      next = std::min(next, part.start <= at ? part.end : part.start);
    }
    visit(Interval{at, next}, traits);
    at = next;
  }
}

}  // namespace idleburn
