#include "classify/tick_counter.h"

namespace idleburn {

TickCounter::TickCounter(const Thresholds& thresholds, const Cadence& cadence)
    : thresholds_(&thresholds), repeat_after_(cadence.tick_window.count() * 9 / 10) {}

void TickCounter::OnReading(std::int64_t time, std::int64_t value, DeviceTotals& totals) {
  if (time >= anchor_end_) {
    last_tick_ = last_row_;
    anchor_end_ = time - time % kAnchor + kAnchor;
  }
  const bool fresh = value != last_value_ || time - last_tick_ >= repeat_after_;
  last_row_ = time;
  last_value_ = value;
  if (!fresh) return;
  last_tick_ = time;
  const Thresholds& t = *thresholds_;
  const bool low = value < t.idle_below;
  const bool high = value >= t.bound_from;
  const std::size_t band = low ? 0 : high ? 3 : value >= t.productive_from ? 2 : 1;
  ++totals.ticks[band];
  ++block_ticks_;
  if (!low && !high) return;
  block_low_ += low ? 1 : 0;
  block_high_ += high ? 1 : 0;
  const int extreme = low ? -1 : 1;
  if (extreme_ == -extreme) ++alternations_;
  extreme_ = extreme;
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
