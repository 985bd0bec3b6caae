#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <tuple>
#include <vector>

#include "diagnose/fp32_kernels.h"
#include "diagnose/launch_index.h"
#include "profile/profile.h"

namespace idleburn {

// Rows by start, then as in the file. Files are mostly written that way: then it takes no memory.
template <typename Row>
class StartOrder {
 public:
  explicit StartOrder(const std::vector<Row>& rows);
  [[nodiscard]] std::size_t size() const { return size_; }
  [[nodiscard]] std::uint32_t operator[](std::size_t i) const {
    return order_.empty() ? static_cast<std::uint32_t>(i) : order_[i];
  }

 private:
  std::size_t size_;
  std::vector<std::uint32_t> order_;  // empty: as they stand
};

// Launches of which a device ran several events (graphs).
class GraphLaunches {
 public:
  explicit GraphLaunches(const std::vector<DeviceEvent>& events);
  // When the first event of this one's launch started; absent where it is the only one.
  [[nodiscard]] std::optional<std::int64_t> FirstStart(const DeviceEvent& event) const;

 private:
  struct Launch {
    std::int64_t correlation = 0;
    std::int64_t start_ns = 0;  // of its first event
    std::uint16_t process = 0;
    bool many = false;  // events

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

// Which processes the device's events are of: all, where these cannot be told apart.
std::vector<bool> Drivers(const Profile& profile, const ProfiledDevice& device);

// The rows of a profile, as all windows of one of its devices look them up. Refers to the profile.
struct TraceRows {
  const Profile& profile;
  const ProfiledDevice& device;
  const LaunchIndex& launches;        // of the profile
  const StartOrder<HostCall>& calls;  // of the profile
  StartOrder<DeviceEvent> events{device.events};
  GraphLaunches graphs{device.events};
  std::vector<bool> fp32 = Fp32Names(profile);          // matrix kernels in single precision, by name
  std::vector<bool> drives = Drivers(profile, device);  // by process
};

}  // namespace idleburn
