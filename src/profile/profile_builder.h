#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "profile/interval_set.h"
#include "profile/profile.h"
#include "telemetry/data_quality.h"
#include "text/text_hash.h"

namespace idleburn {

// Rows of a number that is not known before, collected in the memory of the rows: a vector that grows holds them twice
// while it moves.
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

  // All rows in order; none remain.
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
  // Of more than 32 MiB, so that a block goes back to the system when it is freed: malloc keeps smaller ones.
  static constexpr std::size_t kBlockRows = (std::size_t{40} << 20) / sizeof(T);
  std::vector<std::vector<T>> blocks_;
  std::size_t size_ = 0;
};

// Collects a profile row by row, in the order of the file, in the memory that Profile states: 48 bytes a device
// event, 32 a call, 16 a united host range, each name once.
class ProfileBuilder {
 public:
  // Header fields (file, facts, rank, ...) may be set at any time before Build.
  Profile& header() { return profile_; }

  NameId Intern(std::string_view name);
  std::uint32_t Thread(std::string_view name);
  std::uint16_t Process(std::string_view name);
  // The device of that id, made when it is first asked for; its events come with Build. Valid until the next call.
  ProfiledDevice& Device(std::int64_t id);

  // Adds to the events of Device(id) and returns its index there. A kernel that communicates by its name becomes kComm.
  std::size_t AddDeviceEvent(std::int64_t id, DeviceEvent event);
  // `call.kind` is set by the name.
  void AddCall(std::string_view name, HostCall call);
  // An operator or annotation of a host thread. Counts as data loader and scalar read too if it is one. A step is
  // added by AddStep only.
  void AddHostRange(std::string_view name, Interval range, std::uint32_t thread);
  void AddPythonFrame(std::string_view name, Interval range, std::uint32_t thread);
  // What the framework's allocator held of a device's memory at some time.
  void AddReserved(std::int64_t id, std::int64_t bytes);
  void AddOverhead(Interval range) { overhead_.Add(range); }
  void AddStep(const ProfiledStep& step);

  // What was collected; the builder is empty afterwards.
  Profile Build();

 private:
  bool Communicates(NameId kernel);
  // The loaders' time that no thread with launches spends in one. Without launches nobody can tell.
  IntervalSet TakeLoaderAhead();
  void KeepFrame(const HostFrame& frame);
  // Frames that are shorter than all that are kept need no name.
  [[nodiscard]] bool TooShort(Interval range) const;

  using Index = std::unordered_map<std::string, std::uint32_t, TextHash, std::equal_to<>>;

  Profile profile_;
  Index names_ = {{"", 0}};
  std::vector<std::optional<bool>> communicates_;  // by name; absent: not asked yet
  Index threads_;
  Index processes_;
  struct PendingDevice {
    ProfiledDevice device;
    RowBlocks<DeviceEvent> events;
  };
  std::map<std::int64_t, PendingDevice> devices_;
  RowBlocks<HostCall> calls_;
  std::vector<HostFrame> frames_;  // a heap, the shortest on top, once it is full
  IntervalUnion dataloader_;
  std::map<std::uint32_t, IntervalUnion> loaders_;  // the same by thread
  IntervalUnion cpu_op_;
  IntervalUnion scalar_read_;
  IntervalUnion overhead_;
};

// The range of an event by its times in a file. One that ends before it starts is an instant; one that lasts longer
// than kLongestEventNs, or lies further than 73 years off, is none. Each is counted.
std::optional<Interval> EventRange(std::int64_t start_ns, std::int64_t end_ns, DataQuality& quality, Place place);

}  // namespace idleburn
