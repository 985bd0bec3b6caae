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

// Rows by start, then as in the file. Files are mostly written that way: then it takes no memory. Else it is worked out
// once, or, of many rows, a part of them at a time whenever somebody walks over them.
template <typename Row>
class StartOrder {
 public:
  static constexpr std::size_t kAtOnce = std::size_t{1} << 21;
  explicit StartOrder(const std::vector<Row>& rows, std::size_t at_once = kAtOnce);

  class Walk {
   public:
    explicit Walk(const StartOrder& order) : order_(order) {
      if (order_.borders_.size() > 1) Load();
    }
    [[nodiscard]] bool done() const { return passed_ + at_ == order_.rows_.size(); }
    // Index of the row; not if done.
    [[nodiscard]] std::uint32_t row() const {
      if (order_.sorted_) return static_cast<std::uint32_t>(at_);
      return order_.borders_.size() > 1 ? part_[at_] : order_.order_[at_];
    }
    void Next() {
      if (++at_ == part_.size() && order_.borders_.size() > 1) Load();
    }

   private:
    // The next part that has rows.
    void Load();

    const StartOrder& order_;
    std::vector<std::uint32_t> part_;
    std::size_t next_part_ = 0;
    std::size_t passed_ = 0;  // rows of the parts before
    std::size_t at_ = 0;
  };

 private:
  // The rows that start in [from, before).
  void Sort(std::int64_t from, std::int64_t before, std::vector<std::uint32_t>* order) const;

  const std::vector<Row>& rows_;
  bool sorted_;
  std::vector<std::uint32_t> order_;   // of all rows, if these are few
  std::vector<std::int64_t> borders_;  // of starts, each part from one of them
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
