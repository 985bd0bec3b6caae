#pragma once

#include <cstdint>
#include <vector>

#include "profile/profile.h"

namespace idleburn {

// Which call of the host launched a device event: the first of the file with its correlation id in its process.
// Refers to the profile and must not outlive it.
class LaunchIndex {
 public:
  explicit LaunchIndex(const Profile& profile);

  // Null if the profile has no such call (launched before profiling began, trimmed capture).
  [[nodiscard]] const HostCall* Of(const DeviceEvent& event) const;
  // Calls of several processes have the event's correlation id, and which of them launched it cannot be told.
  [[nodiscard]] bool IsAmbiguous(const DeviceEvent& event) const;

 private:
  struct Entry {
    std::int64_t correlation = kNoCorrelation;
    std::uint32_t process = 0;  // 0 where processes cannot be told apart
    std::uint32_t call = 0;     // index into Profile::calls

    friend auto operator<=>(const Entry&, const Entry&) = default;
  };
  [[nodiscard]] std::vector<Entry>::const_iterator First(const DeviceEvent& event) const;
  [[nodiscard]] bool Matches(const Entry& entry, const DeviceEvent& event) const;
  [[nodiscard]] std::uint32_t ProcessOf(std::uint16_t process) const {
    return profile_.correlation_by_process ? process : 0;
  }

  const Profile& profile_;
  std::vector<Entry> entries_;  // sorted
};

}  // namespace idleburn
