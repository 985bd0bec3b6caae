#pragma once

#include <cstdint>
#include <vector>

#include "diagnose/idle_attribution.h"
#include "diagnose/time_set.h"
#include "diagnose/trace_slice.h"

namespace idleburn {

// Instants of a window that are cut out of the time line, as if they had not happened: what comes later moves up, on
// the host and on the device alike, and ranges that lie in them become empty. Never time in which the device computes,
// nor the last nanosecond of a slice.
struct TimeCut {
  Attribution recorded;  // of the window with all its time
  TimeSet removed;
};

// Cuts slice by slice, in their order.
class SliceCutter {
 public:
  SliceCutter(const TraceRows& rows, const TimeCut& cut) : rows_(rows), cut_(cut) {}
  void Cut(TraceSlice* slice);

 private:
  const TraceRows& rows_;
  const TimeCut& cut_;
  std::int64_t before_ = 0;  // cut from the slices before
};

// Moves instants of anything as the slices that hold them come by.
class MovedInstants {
 public:
  explicit MovedInstants(std::vector<std::int64_t*> instants);
  void Move(const TraceSlice& slice);

 private:
  std::vector<std::int64_t*> instants_;  // ascending
  std::size_t next_ = 0;
};

// Calls `visit(const TraceSlice&)` for each slice of a window, with some of its time cut out unless `cut` is null.
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

}  // namespace idleburn
