#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <vector>

#include "diagnose/covering_frame.h"
#include "diagnose/idle_class.h"
#include "diagnose/time_set.h"
#include "diagnose/trace_window.h"
#include "profile/profile.h"

namespace idleburn {

// Kernels that overlap the window, those that communicate included. Durations are not clipped; kernels of length 0
// count (old profilers tick in microseconds).
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

struct GapFigures {
  std::int64_t count = 0;
  std::int64_t longest_ns = 0;
  std::int64_t long_count = 0;  // of 1 ms or more
  std::int64_t long_ns = 0;
};

struct StreamFigures {
  std::uint32_t stream = 0;
  std::int64_t busy_ns = 0;  // union of its events that overlap the window, not clipped to it
};

struct LargeGap {
  Interval at;
  IdleClass mainly = IdleClass::kHostOther;  // the class of most of it
  std::vector<CoveringFrame> frames;         // of gaps that are material
  TimeSet time;                              // what is true of it
};

// Where the time of one device went in one window. All figures are exact: span = compute + exposed_comm +
// exposed_copy + idle, and idle is the sum of its classes.
struct TraceBudget {
  std::int64_t device = 0;
  Window window = Window::kGpuSpan;
  Interval span;
  std::int64_t busy_ns = 0;
  std::int64_t compute_ns = 0;
  std::int64_t comm_ns = 0;
  std::int64_t comm_overlap_ns = 0;  // of comm, beside compute
  std::int64_t exposed_comm_ns = 0;
  std::int64_t copy_ns = 0;  // union of copies and sets
  std::int64_t exposed_copy_ns = 0;
  std::int64_t idle_ns = 0;

  std::optional<std::array<std::int64_t, kIdleClasses>> idle_by_class;  // absent: correlation ids are ambiguous
  std::int64_t in_launch_call_ns = 0;                                   // of the queued wait
  std::int64_t profiler_overhead_ns = 0;                                // of idle, while the profiler itself worked

  KernelFigures kernels;
  GapFigures gaps;
  std::vector<CopyFigures> copies;     // by kind, from, to
  std::vector<StreamFigures> streams;  // by stream
  std::vector<LargeGap> largest_gaps;  // the longest first

  // 0 for a window without length.
  [[nodiscard]] double Share(std::int64_t ns) const {
    return span.Ns() == 0 ? 0 : static_cast<double>(ns) / static_cast<double>(span.Ns());
  }
  // Only where idle_by_class is there.
  [[nodiscard]] std::int64_t IdleNs(IdleClass c) const { return (*idle_by_class)[static_cast<std::size_t>(c)]; }
};

}  // namespace idleburn
