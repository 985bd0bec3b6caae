#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "diagnose/idle_class.h"
#include "diagnose/time_set.h"
#include "diagnose/trace_rows.h"
#include "diagnose/trace_slice.h"
#include "diagnose/trace_window.h"

namespace idleburn {

struct IdleGap {
  Interval at;
  const HostCall* launch = nullptr;  // of the event that ends the gap, if the file has it
  Interval call;                     // of the launch, as far as it lies in the slice
  CopyKind copy = CopyKind::kNone;   // what the event copies
  bool inside_graph = false;         // an earlier event came of the same launch: a dependency, no launch cost
  bool tail = false;

  // To the start of the launch; empty without one.
  [[nodiscard]] Interval BeforeLaunch() const {
    return {at.start, launch == nullptr ? at.start : std::clamp(call.start, at.start, at.end)};
  }
};

// How the idle time of a window is laid at somebody's door: the same for all of its slices.
struct Attribution {
  Window window = Window::kGpuSpan;
  bool possible = true;        // false: correlation ids are ambiguous, and no gap can be laid at anyone's door
  std::vector<bool> drivers;   // processes that launch what ends gaps; empty: all. Of others, calls say nothing
  std::int64_t steady_ns = 0;  // from here on an allocator that caches has no reason to ask for memory
};

// The instants of a slice by what is true of them.
struct SliceTraits {
  std::array<IntervalSet, kTraits> of;
  IntervalSet busy;
  std::vector<IdleGap> gaps;  // by time

  IntervalSet& Of(Trait t) { return of[static_cast<std::size_t>(t)]; }
};
SliceTraits TraitsOf(const TraceRows& rows, const TraceSlice& slice, const Attribution& attribution);

// Who launches what ends the gaps of a slice: adds to the drivers, and says if that is ambiguous.
void AddDrivers(const TraceRows& rows, const TraceSlice& slice, Attribution* attribution);

// Calls `visit(Interval, Traits)` for every stretch of `within` in which the same is true, by time.
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
