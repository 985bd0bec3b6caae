#pragma once

#include <cstdint>
#include <deque>
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
//
// A stamp is the wall clock at publication, and stays what it was when somebody sets that clock. So after a step back
// what was read before bears later stamps than what is new, and is known by having been read; what was published before
// a step and is read after it is moved by the step.
class UtilizationRing {
 public:
  struct Reading {
    std::int64_t stamp_us = 0;          // end of what it describes; by the wall clock as it is set now
    std::optional<std::int64_t> value;  // micro-percent; absent: published, but no valid value
    bool gap = false;                   // before this one the ring overflowed: what was published there is lost
  };

  // Only what is published after `now_us` (wall clock) is of interest.
  explicit UtilizationRing(std::int64_t now_us) : last_seen_us_(now_us) {}

  // The readings of one call that are new, in order of stamp. `wall_us`: the wall clock, now. Stamps that lie beyond it
  // are no time of ours, and what bears them is left out.
  std::vector<Reading> Take(std::span<const nvml::DriverSample> samples, std::uint32_t value_type,
                            std::int64_t wall_us);
  // The wall clock was set by `step`, a moment ago; it is `wall_us` now.
  void MoveWall(Nanos step, std::int64_t wall_us);

  // Later than this is what the driver is to be asked for. The first call asks for all it has, so that this is known to
  // be old whatever becomes of the clock.
  [[nodiscard]] std::int64_t ask_from_us() const { return ask_from_us_; }
  // W: how often the driver publishes. Absent until measured.
  [[nodiscard]] const std::optional<Nanos>& window() const { return meter_.window(); }

 private:
  [[nodiscard]] std::int64_t ByPresentClock(std::int64_t stamp_us, std::int64_t wall_us) const;

  std::int64_t last_seen_us_;      // of what was read, by the wall clock as it is set now
  std::int64_t ask_from_us_ = 0;   // likewise, or lower while older stamps may be wanted
  std::deque<std::int64_t> read_;  // stamps as the driver gave them, the last kRemembered
  std::int64_t step_us_ = 0;       // by which the clock was set since the last call
  std::int64_t step_at_us_ = 0;    // the wall clock then, as it was before
  bool any_ = false;
  WindowMeter meter_;
};

}  // namespace idleburn
