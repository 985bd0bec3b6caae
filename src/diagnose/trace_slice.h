#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "diagnose/trace_rows.h"
#include "diagnose/trace_window.h"
#include "profile/interval_set.h"

namespace idleburn {

// Where the instants of a slice come to lie once some are cut out of the time line. What lies outside of the slice goes
// to its ends.
class SliceClock {
 public:
  SliceClock() = default;
  // `before`: how much was cut before the slice.
  SliceClock(Interval slice, std::int64_t before, const IntervalSet& removed);

  // The slice as it was recorded.
  [[nodiscard]] Interval recorded() const { return slice_; }
  [[nodiscard]] std::int64_t operator()(std::int64_t t) const;
  [[nodiscard]] Interval operator()(Interval i) const { return {(*this)(i.start), (*this)(i.end)}; }
  [[nodiscard]] IntervalSet operator()(const IntervalSet& set) const;

 private:
  Interval slice_;
  std::int64_t before_ = 0;
  IntervalSet removed_;
  std::vector<std::int64_t> removed_before_;  // each part, in the slice
};

struct SliceEvent {
  Interval at;               // its part of the slice
  std::uint32_t row = 0;     // of ProfiledDevice::events
  bool begins = false;       // not before the window
  bool goes_on = false;      // in the next slice
  std::int64_t outside = 0;  // how much of it lies outside of the window
};

// A synchronising, copying or allocating call.
struct SliceCall {
  Interval at;
  std::uint32_t row = 0;  // of Profile::calls
};

// A stretch of a window and the rows that touch it, clipped to it. At the border of two slices the device computes: no
// idle gap reaches over it, and nothing that a fix could save lies there. A device that computes nothing in very many
// events is busy otherwise at the border, and a fix leaves that nanosecond alone.
struct TraceSlice {
  Interval at;
  bool last = false;
  SliceClock clock;                // from the times of the profile
  std::vector<SliceEvent> events;  // by start, then as in the file
  std::vector<SliceCall> calls;
  std::vector<std::int64_t> launches;  // starts of kernel launches of the device's processes; ascending
  IntervalSet dataloader;
  IntervalSet loader_ahead;
  IntervalSet cpu_op;
  IntervalSet scalar_read;
  IntervalSet overhead;
  IntervalSet peer_wait;
};

// Which window of a device is looked at.
struct WindowSpec {
  Window window = Window::kGpuSpan;
  Interval span;
  const IntervalSet* peer_wait = nullptr;  // null: this rank is seen alone
  std::size_t slice_events = 0;            // that begin in one slice, as a rule
};

// Cuts a window into slices, so that what is worked out of it takes the memory of one.
class Slicer {
 public:
  Slicer(const TraceRows& rows, const WindowSpec& spec);
  // False after the last one. There is one at least.
  bool Next(TraceSlice* slice);

 private:
  void TakeEvents(TraceSlice* slice);
  void TakeCalls(TraceSlice* slice);
  void TakeRanges(TraceSlice* slice) const;

  const TraceRows& rows_;
  WindowSpec spec_;
  std::int64_t from_;
  bool done_ = false;
  StartOrder<DeviceEvent>::Walk events_;
  StartOrder<HostCall>::Walk calls_;
  std::vector<std::uint32_t> open_events_;  // that reach over the border
  std::vector<std::uint32_t> open_calls_;
};

}  // namespace idleburn
