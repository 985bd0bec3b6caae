// Looks up the rows of a profile: by launch, by start, and slice by slice. A profile may hold tens of millions
// of events, so everything here uses the file's own order where it can and bounded memory otherwise.

#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>
#include <tuple>
#include <vector>

#include "diagnose/host_work.h"
#include "diagnose/trace_budget.h"
#include "profile/interval_set.h"
#include "profile/profile.h"

namespace idleburn {

// Finds the host call that launched a device event: the first call of the file with its correlation id in its
// process. Refers to the profile and must not outlive it.
class LaunchIndex {
 public:
  explicit LaunchIndex(const Profile& profile);

  // Null if the profile has no such call: it was launched before profiling began, or the capture was trimmed.
  [[nodiscard]] const HostCall* Of(const DeviceEvent& event) const;
  // Whether calls of several processes have the event's correlation id, so that the launch is unknown.
  [[nodiscard]] bool IsAmbiguous(const DeviceEvent& event) const;

 private:
  [[nodiscard]] const HostCall& At(std::size_t i) const { return calls_[order_.empty() ? i : order_[i]]; }
  [[nodiscard]] std::size_t First(const DeviceEvent& event) const;
  [[nodiscard]] bool Matches(std::size_t i, const DeviceEvent& event) const;
  // 0 if processes cannot be told apart.
  [[nodiscard]] std::uint16_t ProcessOf(std::uint16_t process) const {
    return by_process_ ? process : std::uint16_t{0};
  }
  template <typename Row>
  [[nodiscard]] bool Before(const HostCall& call, const Row& row) const;

  const std::vector<HostCall>& calls_;
  bool by_process_;
  std::vector<std::uint32_t> order_;  // calls by correlation id and process; empty: in file order
};

// Whether a matrix or convolution kernel of a vendor's library works in single precision without tensor cores:
// cuBLAS "volta_sgemm_64x64_nt", cuDNN "volta_scudnn_128x64_relu", "implicit_convolve_sgemm". A template
// argument <float> proves nothing, because it may be the accumulator's type.
bool IsFp32Matrix(std::string_view kernel);

// IsFp32Matrix for every name of a profile.
std::vector<bool> Fp32Names(const Profile& profile);

// Rows ordered by start, then by file position. Most files are already in this order and need no memory.
// Otherwise the order is computed once. With many rows it is computed in parts, again in each walk, to bound
// memory.
template <typename Row>
class StartOrder {
 public:
  static constexpr std::size_t kAtOnce = std::size_t{1} << 21;
  explicit StartOrder(const std::vector<Row>& rows, std::size_t at_once = kAtOnce);

  // Visits the rows in order.
  class Walk {
   public:
    explicit Walk(const StartOrder& order) : order_(order) {
      if (order_.borders_.size() > 1) Load();
    }
    [[nodiscard]] bool done() const { return passed_ + at_ == order_.rows_.size(); }
    // Index of the present row; not if done.
    [[nodiscard]] std::uint32_t row() const {
      if (order_.sorted_) return static_cast<std::uint32_t>(at_);
      return order_.borders_.size() > 1 ? part_[at_] : order_.order_[at_];
    }
    void Next() {
      if (++at_ == part_.size() && order_.borders_.size() > 1) Load();
    }

   private:
    // Loads the next part that has rows.
    void Load();

    const StartOrder& order_;
    std::vector<std::uint32_t> part_;
    std::size_t next_part_ = 0;
    std::size_t passed_ = 0;  // rows of earlier parts
    std::size_t at_ = 0;
  };

 private:
  // Sorts the rows that start in [from, before).
  void Sort(std::int64_t from, std::int64_t before, std::vector<std::uint32_t>* order) const;

  const std::vector<Row>& rows_;
  bool sorted_;
  std::vector<std::uint32_t> order_;   // all rows, if there are few
  std::vector<std::int64_t> borders_;  // first start of each part
};

// Launches with several device events, as with CUDA graphs.
class GraphLaunches {
 public:
  explicit GraphLaunches(const std::vector<DeviceEvent>& events);
  // When the first event of this event's launch started; absent if it is the only one.
  [[nodiscard]] std::optional<std::int64_t> FirstStart(const DeviceEvent& event) const;

 private:
  struct Launch {
    std::int64_t correlation = 0;
    std::int64_t start_ns = 0;  // of its first event
    std::uint16_t process = 0;
    bool many = false;  // several events

    [[nodiscard]] bool Same(const Launch& other) const {
      return correlation == other.correlation && process == other.process;
    }
    friend bool operator<(const Launch& a, const Launch& b) {
      return std::tie(a.correlation, a.process, a.start_ns) < std::tie(b.correlation, b.process, b.start_ns);
    }
  };
  static void Join(std::vector<Launch>& launches);

  std::vector<Launch> launches_;  // sorted
};

// Which processes the device's events belong to; all, if they cannot be told apart.
std::vector<bool> Drivers(const Profile& profile, const ProfiledDevice& device);

// The rows of a profile with the indexes that all windows of one device share. Refers to the profile.
struct TraceRows {
  const Profile& profile;
  const ProfiledDevice& device;
  const LaunchIndex& launches;        // of the profile
  const StartOrder<HostCall>& calls;  // of the profile
  StartOrder<DeviceEvent> events{device.events};
  GraphLaunches graphs{device.events};
  std::vector<bool> fp32 = Fp32Names(profile);          // by name: single-precision matrix kernels
  std::vector<bool> drives = Drivers(profile, device);  // by process
  HostWork work = FindHostWork(profile, device, launches);
};

// Moves instants of a slice when parts of the time line are cut out. Instants outside the slice move to its
// ends. Example: after cutting [10, 14), the instant 20 becomes 16.
class SliceClock {
 public:
  SliceClock() = default;
  // `before` is the time that was cut before the slice.
  SliceClock(Interval slice, std::int64_t before, const IntervalSet& removed);

  // The slice as recorded.
  [[nodiscard]] Interval recorded() const { return slice_; }
  // The new position of an instant, an interval or a set.
  [[nodiscard]] std::int64_t operator()(std::int64_t t) const;
  [[nodiscard]] Interval operator()(Interval i) const { return {(*this)(i.start), (*this)(i.end)}; }
  [[nodiscard]] IntervalSet operator()(const IntervalSet& set) const;

 private:
  Interval slice_;
  std::int64_t before_ = 0;
  IntervalSet removed_;
  std::vector<std::int64_t> removed_before_;  // for each part, what was cut before it in the slice
};

// A device event, clipped to a slice.
struct SliceEvent {
  Interval at;               // within the slice
  std::uint32_t row = 0;     // in ProfiledDevice::events
  bool begins = false;       // not before the window
  bool goes_on = false;      // continues in the next slice
  std::int64_t outside = 0;  // its time outside the window
};

// A synchronising, copying or allocating call, clipped to a slice.
struct SliceCall {
  Interval at;
  std::uint32_t row = 0;  // in Profile::calls
};

// A part of a window with the rows that touch it, clipped. The device computes at the border of two slices, so
// no idle gap crosses a border, and a fix could save nothing there. A device with very many events and no
// compute is busy otherwise at the border; a fix then leaves that nanosecond alone.
struct TraceSlice {
  Interval at;
  bool last = false;
  SliceClock clock;                // from the times of the profile
  std::vector<SliceEvent> events;  // by start, then by file position
  std::vector<SliceCall> calls;
  // Starts of kernel launches by the device's processes, ascending. Launches that a graph capture recorded are left
  // out.
  std::vector<std::int64_t> launches;
  IntervalSet dataloader;
  IntervalSet loader_ahead;
  IntervalSet cpu_op;
  IntervalSet scalar_read;
  IntervalSet overhead;
  IntervalSet peer_wait;
  IntervalSet first_use;
  IntervalSet memory_calls;  // calls that take or return memory of any kind
  IntervalSet to_host;
  IntervalSet cut;
  IntervalSet optimizer;
};

// The window of a device to analyse.
struct WindowSpec {
  Window window = Window::kGpuSpan;
  Interval span;
  const IntervalSet* peer_wait = nullptr;  // null: this rank is analysed alone
  // Typical number of events that begin in one slice.
  std::size_t slice_events = 0;
};

// Cuts a window into slices, so that the analysis needs the memory of one slice.
class Slicer {
 public:
  Slicer(const TraceRows& rows, const WindowSpec& spec);
  // Returns false after the last slice. There is at least one.
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
  std::vector<std::uint32_t> open_events_;  // that cross the border
  std::vector<std::uint32_t> open_calls_;
};

}  // namespace idleburn
