// Why a device was idle: finds for each idle gap what the host did before the launch that ended it.

#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "diagnose/time_set.h"
#include "diagnose/trace_budget.h"
#include "diagnose/trace_rows.h"

namespace idleburn {

// A stretch in which the device does nothing.
struct IdleGap {
  Interval at;
  const HostCall* launch = nullptr;  // of the event that ends the gap, if the file contains it
  Interval call;                     // of the launch, within the slice
  CopyKind copy = CopyKind::kNone;   // what that event copies
  // An earlier event has the same launch: a dependency, not a launch cost.
  bool inside_graph = false;
  bool tail = false;

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
