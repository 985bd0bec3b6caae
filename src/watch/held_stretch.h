// How long a GPU has been idle, for live alerts. An audit classifies a finished run; this answers the same
// question second by second, with the same thresholds, and cannot look ahead.

#pragma once

#include <cstdint>
#include <optional>

#include "base/time.h"
#include "classify/thresholds.h"
#include "telemetry/sample.h"

namespace idleburn {

// How long one GPU has been idle without a break, up to its newest whole second, and for how long of that a
// process held its memory. Seconds are judged like in an audit: a mean utilization below 10 % is idle. A
// stretch starts with the first reading of its first second. An unknown second ends both stretches, because a
// GPU without data counts as active. A second is unknown if
//
//   no reading arrived for kHold, or an expected reading had no value
//   time went backwards
//   nothing told for side_hold who holds the memory
//   the counter is broken
class HeldStretch {
 public:
  // `thresholds` outlives this.
  explicit HeldStretch(const Thresholds& thresholds) : thresholds_(&thresholds) {}

  // Takes the next sample. A sample that is older than the last one means that the clock was set.
  void Feed(const Sample& sample);

  // How long it has been held idle, and idle at all; 0 while active or unknown.
  [[nodiscard]] Nanos held() const { return Since(held_since_); }
  [[nodiscard]] Nanos idle() const { return Since(idle_since_); }
  // The start of the present held stretch, on the run's time line.
  [[nodiscard]] std::optional<Instant> held_since() const { return held_since_; }

  // Whether a reading of exactly 0 comes from a broken counter: the board draws power that only work explains.
  [[nodiscard]] static bool IsBrokenZero(const Thresholds& thresholds, bool by_engine, std::int64_t power_mw,
                                         std::optional<std::int64_t> limit_mw) {
    return by_engine ? thresholds.DrawsForWork(power_mw, limit_mw) : thresholds.DrawsBeyondIdle(power_mw, limit_mw);
  }

  // A GPU renews its utilization at least once a second. A reading is valid for two and a half times that.
  static constexpr Nanos kHold{2'500'000'000};

 private:
  struct Side {
    std::int64_t value = 0;
    std::optional<Instant> time;
  };
  enum class State : std::uint8_t { kActive, kHeld, kEmpty };

  [[nodiscard]] Nanos Since(const std::optional<Instant>& start) const { return start ? until_ - *start : Nanos(0); }
  void NoteSides(const Sample& sample);
  void AddReading(Instant time, std::int64_t value);
  void CloseSecond(std::int64_t next);
  [[nodiscard]] State StateOfSecond() const;
  [[nodiscard]] std::optional<std::int64_t> Known(const Side& side) const;
  void Break();

  const Thresholds* thresholds_;
  bool by_engine_ = true;  // until a utilization was read
  Side processes_;
  Side memory_;
  Side power_;
  std::optional<std::int64_t> power_limit_;  // milliwatts, as read last
  std::optional<Instant> last_;              // last reading of the counter
  std::int64_t second_ = 0;                  // the open second, while count_ > 0
  Instant first_;                            // its first reading
  std::int64_t sum_ = 0;
  std::int64_t count_ = 0;
  bool broken_counter_ = false;  // in the open second

  Instant until_;
  std::optional<Instant> held_since_;
  std::optional<Instant> idle_since_;
};

}  // namespace idleburn
