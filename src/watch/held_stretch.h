#pragma once

#include <cstdint>
#include <optional>

#include "base/time.h"
#include "classify/thresholds.h"
#include "telemetry/sample.h"

namespace idleburn {

// For how long, until its newest whole second, one GPU has been idle without a break, and for how long of that a
// process held its memory. It is read second by second as an audit reads it: the mean of a second's utilizations, below
// 10 % idle; a stretch begins with the first reading of its first second. A second that is not known breaks both: a GPU
// of which nothing is known counts as active.
//
//   not known   no reading for kHold, a reading that was to be had and had no value, time that goes back,
//               no word for side_hold about who holds the memory, a counter that is broken
class HeldStretch {
 public:
  // `thresholds` outlives this.
  explicit HeldStretch(const Thresholds& thresholds) : thresholds_(&thresholds) {}

  // In order of time; another order is a clock that was set.
  void Feed(const Sample& sample);

  // 0 while it is active or not known.
  [[nodiscard]] Nanos held() const { return Since(held_since_); }
  [[nodiscard]] Nanos idle() const { return Since(idle_since_); }
  // When the present stretch of being held began, on the run's time line.
  [[nodiscard]] std::optional<Instant> held_since() const { return held_since_; }

  // Whether a reading of exactly 0 is of a broken counter, because the board draws what it draws only with work.
  [[nodiscard]] static bool IsBrokenZero(const Thresholds& thresholds, bool by_engine, std::int64_t power_mw,
                                         std::optional<std::int64_t> limit_mw) {
    return by_engine ? thresholds.DrawsForWork(power_mw, limit_mw) : thresholds.DrawsBeyondIdle(power_mw, limit_mw);
  }

  // A GPU renews its utilization once a second or oftener; a reading stands at most for two and a half times that.
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
  std::optional<Instant> last_;              // reading of the counter
  std::int64_t second_ = 0;                  // the open one, while count_ > 0
  Instant first_;                            // reading in it
  std::int64_t sum_ = 0;
  std::int64_t count_ = 0;
  bool broken_counter_ = false;  // in the open second

  Instant until_;
  std::optional<Instant> held_since_;
  std::optional<Instant> idle_since_;
};

}  // namespace idleburn
