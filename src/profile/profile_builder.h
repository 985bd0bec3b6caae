#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "profile/interval_set.h"
#include "profile/profile.h"
#include "profile/row_blocks.h"
#include "text/strings.h"

namespace idleburn {

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

}  // namespace idleburn
