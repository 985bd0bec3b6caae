#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <limits>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "profile/comm_ranges.h"
#include "profile/interval_set.h"
#include "profile/profile.h"
#include "profile/range_terms.h"
#include "telemetry/data_quality.h"
#include "text/strings.h"

namespace idleburn {

// From the rows of any profiler's file to a Profile. Readers push rows in file order and know nothing of each other.
// Rules that hold for all formats are here: which kernels communicate, which loaders nobody waits for, which of two
// equal steps counts.

// Collects rows of an unknown number in blocks. A growing vector would hold all rows twice while it moves them.
template <typename T>
class RowBlocks {
 public:
  void Add(const T& row) {
    if (blocks_.empty()) {
      blocks_.emplace_back();  // most devices have few rows
    } else if (blocks_.back().size() == kBlockRows) {
      blocks_.emplace_back().reserve(kBlockRows);
    }
    blocks_.back().push_back(row);
    ++size_;
  }
  [[nodiscard]] std::size_t size() const { return size_; }

  // Returns all rows in order and becomes empty.
  std::vector<T> Take() {
    std::vector<T> rows;
    if (blocks_.size() == 1) {
      rows = std::move(blocks_.front());
    } else {
      rows.reserve(size_);
      for (std::vector<T>& block : blocks_) {
        rows.insert(rows.end(), block.begin(), block.end());
        std::vector<T>().swap(block);
      }
    }
    blocks_.clear();
    size_ = 0;
    return rows;
  }

 private:
  // Blocks are larger than 32 MiB, so that freeing one returns it to the system. malloc keeps smaller ones.
  static constexpr std::size_t kBlockRows = (std::size_t{40} << 20) / sizeof(T);
  std::vector<std::vector<T>> blocks_;
  std::size_t size_ = 0;
};

// Collects a profile row by row, in file order. Every reader of a profiler's format has one. Memory: 48 bytes per
// device event, 32 per call, 24 per scope up to 96 MiB, 16 per united host range, and each name once.
class ProfileBuilder {
 public:
  // Fields such as file, facts and rank may be set at any time before Build.
  Profile& header() { return profile_; }

  // The index of a name, a thread or a process, added on first use.
  NameId Intern(std::string_view name);
  std::uint32_t Thread(std::string_view name);
  std::uint16_t Process(std::string_view name);
  // The device of that id, created on first use. Build adds its events. Valid until the next call.
  ProfiledDevice& Device(std::int64_t id);

  // Adds an event to Device(id) and returns its index there. A kernel whose name belongs to a communication library
  // becomes kComm. The event must not end before it starts.
  std::size_t AddDeviceEvent(std::int64_t id, DeviceEvent event);
  // Adds a call. The builder sets its kind, by the name.
  void AddCall(std::string_view name, HostCall call);
  // Adds an operator or annotation of a host thread. It also counts as what its name says (RangeTerms).
  // Steps are added by AddStep only.
  void AddHostRange(std::string_view name, Interval range, std::uint32_t thread);
  // Adds a frame of Python. It says what covers a gap, and is no operator. That of a compiler counts as compiling.
  void AddPythonFrame(std::string_view name, Interval range, std::uint32_t thread);
  // Adds a range that names the work launched in it. Beyond the limits of named_scope.h it is counted only.
  void AddScope(std::string_view name, Interval range, std::uint32_t thread, ScopeKind kind);
  // Adds a call of an operator of known arithmetic. Without `work` it is counted only.
  void AddShapedOp(std::string_view name, Interval range, std::uint32_t thread, const std::optional<OpWork>& work);
  // Says how much of a device's memory the framework's allocator held at some time. The most is kept.
  void AddReserved(std::int64_t id, std::int64_t bytes);
  void AddOverhead(Interval range) { overhead_.Add(range); }
  // Adds a step. If a process has a number twice, Build keeps the longest.
  void AddStep(const ProfiledStep& step);

  // Names a device that the profiler watched. Without an event it is listed in Profile::without_events.
  void Watch(std::int64_t id) { devices_[id].device.id = id, devices_[id].watched = true; }

  // Returns what was collected. The builder is empty afterwards.
  Profile Build();

 private:
  // Whether a kernel communicates, looked up once for each name.
  bool Communicates(NameId kernel);
  // The terms of a range and the kind of a call, looked up once for each name.
  const RangeTerms& TermsOf(std::string_view name);
  CallKind KindOf(std::string_view call);
  // Extends the time that the file covers.
  void Cover(std::int64_t start_ns, std::int64_t end_ns) {
    recorded_.start = std::min(recorded_.start, start_ns);
    recorded_.end = std::max(recorded_.end, end_ns);
  }
  // Names the collective of each kernel that was launched under one, and makes those kernels communication that are
  // launched directly under one. With several processes, launches are not known yet, and only names tell.
  void TakeCollectives();
  // Keeps the starts of the optimizer that steps most often, if no step is marked.
  void TakeMarks();
  void NameCollectives(ProfiledDevice& device, const std::unordered_map<std::int64_t, CommRanges::Under>& under);
  // The loader time during which no launching thread is in a loader: the loader fetches ahead, and no launch waits
  // for it. Empty if the profile has no launches at all.
  IntervalSet TakeLoaderAhead();
  // Keeps a frame if it is one of the kKeptFrames longest so far.
  void KeepFrame(const HostFrame& frame);
  // Whether a frame is shorter than all that are kept, so that it needs no name.
  [[nodiscard]] bool TooShort(Interval range) const;

  using Index = std::unordered_map<std::string, std::uint32_t, TextHash, std::equal_to<>>;

  Profile profile_;
  Index names_ = {{"", 0}};
  std::vector<std::optional<bool>> communicates_;  // by name; absent: not checked yet
  Index threads_;
  Index processes_;
  struct PendingDevice {
    ProfiledDevice device;
    bool watched = false;
    RowBlocks<DeviceEvent> events;
  };
  std::map<std::int64_t, PendingDevice> devices_;
  RowBlocks<HostCall> calls_;
  RowBlocks<NamedScope> scopes_;
  RowBlocks<ShapedOp> shaped_;
  Index scope_names_;              // of them: kept apart, because their number is limited
  std::vector<HostFrame> frames_;  // once full: a heap with the shortest on top
  IntervalUnion dataloader_;
  std::map<std::uint32_t, IntervalUnion> loaders_;  // dataloader_ by thread
  IntervalUnion cpu_op_;
  IntervalUnion scalar_read_;
  IntervalUnion overhead_;
  IntervalUnion compiling_;
  IntervalUnion optimizer_;
  std::map<std::string, std::vector<std::int64_t>, std::less<>> marks_;  // starts of optimizer steps, by name
  CommRanges comm_;
  std::unordered_map<std::string, RangeTerms, TextHash, std::equal_to<>> terms_;
  RangeTerms other_terms_;  // of a name beyond kMostNames
  std::unordered_map<std::string, CallKind, TextHash, std::equal_to<>> call_kinds_;
  Interval recorded_{std::numeric_limits<std::int64_t>::max(), std::numeric_limits<std::int64_t>::min()};
};

// The range of an event, for all readers. An event that ends before it starts is an instant. An event longer than
// kLongestEventNs, or more than 73 years away, has none. Each of these is counted.
std::optional<Interval> EventRange(std::int64_t start_ns, std::int64_t end_ns, DataQuality& quality, Place place);

}  // namespace idleburn
