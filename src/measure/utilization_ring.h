#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "base/time.h"
#include "measure/nvml_abi.h"

namespace idleburn {

// The median of the first twenty distances between what a source publishes: how often it does.
class WindowMeter {
 public:
  static constexpr std::size_t kEnough = 20;
  // True when this distance was the one that settles the window.
  bool Add(Nanos distance);
  [[nodiscard]] const std::optional<Nanos>& window() const { return window_; }

 private:
  std::vector<Nanos> distances_;
  std::optional<Nanos> window_;
};

// Utilizations as the driver keeps them: a ring of published values with stamps, of which each is wanted once.
class UtilizationRing {
 public:
  struct Reading {
    std::int64_t stamp_us = 0;          // end of what it describes; wall clock
    std::optional<std::int64_t> value;  // micro-percent; absent: published, but no valid value
    bool gap = false;                   // before this one the ring overflowed: what was published there is lost
  };

  // Only what is published after `now_us` (wall clock) is of interest.
  explicit UtilizationRing(std::int64_t now_us) : last_seen_us_(now_us) {}

  // The readings of one call that are new, in order of stamp.
  std::vector<Reading> Take(std::span<const nvml::DriverSample> samples, std::uint32_t value_type);
  // The wall clock was set: the driver's stamps move along.
  void MoveWall(Nanos step) { last_seen_us_ += step.count() / 1000; }

  [[nodiscard]] std::int64_t last_seen_us() const { return last_seen_us_; }
  // W: how often the driver publishes. Absent until measured.
  [[nodiscard]] const std::optional<Nanos>& window() const { return meter_.window(); }

 private:
  std::int64_t last_seen_us_;
  bool any_ = false;
  WindowMeter meter_;
};

}  // namespace idleburn
