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
  [[nodiscard]] const HostCall& At(std::size_t i) const { return calls_[order_.empty() ? i : order_[i]]; }
  [[nodiscard]] std::size_t First(const DeviceEvent& event) const;
  [[nodiscard]] bool Matches(std::size_t i, const DeviceEvent& event) const;
  // 0 where processes cannot be told apart.
  [[nodiscard]] std::uint16_t ProcessOf(std::uint16_t process) const {
    return by_process_ ? process : std::uint16_t{0};
  }
  template <typename Row>
  [[nodiscard]] bool Before(const HostCall& call, const Row& row) const;

  const std::vector<HostCall>& calls_;
  bool by_process_;
  std::vector<std::uint32_t> order_;  // of the calls by correlation id and process; empty: as they stand
};

}  // namespace idleburn
