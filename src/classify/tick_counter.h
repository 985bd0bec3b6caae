#pragma once

#include <cstdint>
#include <span>

#include "classify/cadence.h"
#include "classify/thresholds.h"
#include "classify/totals.h"

namespace idleburn {

// Published readings of the busy counter: a polled gauge repeats them, so rows are not readings. A reading is new
// when the value changed, or when W passed since the last new one.
//
// Also finds starvation in bursts: blocks of ten seconds in which readings alternate between both extremes.
class TickCounter {
 public:
  // State is anchored every minute, so that a stretch classified alone and one classified in a stream agree.
  static constexpr std::int64_t kAnchor = 60 * kNanosPerSecond;

  TickCounter(const Thresholds& thresholds, const Cadence& cadence);

  void OnReading(std::int64_t time, std::int64_t value, DeviceTotals& totals) {
    if (time >= anchor_end_) Anchor(time);
    const bool fresh = value != last_value_ || time - last_tick_ >= repeat_after_;
    last_row_ = time;
    last_value_ = value;
    last_tick_ = fresh ? time : last_tick_;
    Count(fresh ? 1 : 0, value, totals);
  }
  // The same for the `rows` from `from` on of columns of times and values, while times + shift grow beyond `*last`,
  // stay below `end` and need no anchor. Returns where they end, and sets the last time.
  struct Readings {
    const Instant* times;
    const std::int64_t* values;
    std::span<const std::uint32_t> rows;
    std::int64_t shift;
    std::int64_t end;
  };
  std::size_t OnReadings(const Readings& readings, std::size_t from, std::int64_t* last, DeviceTotals& totals);
  // Observed time that belongs to the current block; call before OnReading of a later one.
  void OnObserved(std::int64_t ns) { block_observed_ns_ += ns; }
  // Closes the block that ends at or before `time`.
  void CloseBlocks(std::int64_t time, DeviceTotals& totals) {
    if (time >= block_end_) CloseBlock(time, totals);
  }

 private:
  void Anchor(std::int64_t time) {
    last_tick_ = last_row_;
    anchor_end_ = time - time % kAnchor + kAnchor;
  }
  // Whether a row is a reading changes at random: a branch would be guessed wrong too often.
  void Count(int fresh, std::int64_t value, DeviceTotals& totals) {
    const Thresholds& t = *thresholds_;
    const int low = value < t.idle_below ? 1 : 0;
    const int high = value >= t.bound_from ? 1 : 0;
    totals.ticks[static_cast<std::size_t>((1 - low) + (value >= t.productive_from ? 1 : 0) + high)] += fresh;
    block_ticks_ += fresh;
    block_low_ += low & fresh;
    block_high_ += high & fresh;
    const int extreme = (high - low) * fresh;
    alternations_ += extreme * extreme_ < 0 ? 1 : 0;
    extreme_ = extreme != 0 ? extreme : extreme_;
  }
  void CloseBlock(std::int64_t time, DeviceTotals& totals);

  const Thresholds* thresholds_;
  std::int64_t repeat_after_;  // 0.9 W: stamps are rounded to milliseconds and jitter
  std::int64_t last_tick_ = INT64_MIN / 2;
  std::int64_t last_row_ = INT64_MIN / 2;
  std::int64_t last_value_ = -1;
  std::int64_t anchor_end_ = INT64_MIN;

  std::int64_t block_end_ = INT64_MIN;
  std::int64_t block_observed_ns_ = 0;
  std::int64_t block_ticks_ = 0;
  std::int64_t block_low_ = 0;
  std::int64_t block_high_ = 0;
  std::int64_t alternations_ = 0;
  int extreme_ = 0;  // of the last reading at an extreme: -1 low, +1 high
};

}  // namespace idleburn
