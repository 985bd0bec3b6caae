#include "classify/tick_counter.h"

#include <algorithm>

namespace idleburn {

TickCounter::TickCounter(const Thresholds& thresholds, const Cadence& cadence)
    : thresholds_(&thresholds), repeat_after_(cadence.tick_window.count() * 9 / 10) {}

// Whether a row is a reading, and of which band, changes at random: a branch would be guessed wrong too often. So the
// four bands are counted in the four parts of one number, and everything that a row needs stays in registers.
std::size_t TickCounter::OnReadings(const Readings& readings, std::size_t from, std::int64_t* last,
                                    DeviceTotals& totals) {
  constexpr int kPart = 16;  // bits
  constexpr std::size_t kMost = (std::size_t{1} << kPart) - 1;
  const Thresholds& t = *thresholds_;
  const std::int64_t idle = t.idle_below;
  const std::int64_t productive = t.productive_from;
  const std::int64_t bound = t.bound_from;
  const std::int64_t repeat_after = repeat_after_;
  const std::size_t end = std::min(readings.rows.size(), from + kMost);
  const std::int64_t until = std::min(readings.end, anchor_end_);
  std::int64_t time = *last;
  std::int64_t last_tick = last_tick_;
  std::int64_t last_value = last_value_;
  std::uint64_t counts = 0;
  int alternations = 0;
  int extreme = extreme_;
  std::size_t at = from;
  for (; at < end; ++at) {
    const std::uint32_t row = readings.rows[at];
    const std::int64_t next = readings.times[row].nanos() + readings.shift;
    if (next <= time || next >= until) break;
    time = next;
    const std::int64_t value = readings.values[row];
    const int fresh = static_cast<int>(value != last_value) | static_cast<int>(time - last_tick >= repeat_after);
    last_value = value;
    last_tick = fresh != 0 ? time : last_tick;
    const int low = static_cast<int>(value < idle);
    const int high = static_cast<int>(value >= bound);
    const int band = 1 - low + static_cast<int>(value >= productive) + high;
    counts += static_cast<std::uint64_t>(fresh) << (kPart * band);
    const int now = (high - low) & -fresh;
    alternations += static_cast<int>(now * extreme < 0);
    extreme = now != 0 ? now : extreme;
  }
  if (at == from) return at;
  *last = last_row_ = time;
  last_tick_ = last_tick;
  last_value_ = last_value;
  extreme_ = extreme;
  alternations_ += alternations;
  for (std::size_t band = 0; band < kPhaseCount; ++band) {
    const auto count = static_cast<std::int64_t>(counts >> (kPart * band) & kMost);
    totals.ticks[band] += count;
    block_ticks_ += count;
    if (band == 0) block_low_ += count;
    if (band + 1 == kPhaseCount) block_high_ += count;
  }
  return at;
}

void TickCounter::CloseBlock(std::int64_t time, DeviceTotals& totals) {
  // B = 4 x f_lo x f_hi > threshold, in integers.
  const std::int64_t b = 400 * block_low_ * block_high_;
  if (b > thresholds_->burst_percent * block_ticks_ * block_ticks_ &&
      alternations_ >= thresholds_->burst_alternations) {
    totals.burst_ns += block_observed_ns_;
  }
  const std::int64_t length = thresholds_->burst_block_seconds * kNanosPerSecond;
  block_end_ = time - time % length + length;
  block_observed_ns_ = block_ticks_ = block_low_ = block_high_ = alternations_ = 0;
  extreme_ = 0;
}

}  // namespace idleburn
