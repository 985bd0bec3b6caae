#include "classify/tick_counter.h"

namespace idleburn {

TickCounter::TickCounter(const Thresholds& thresholds, const Cadence& cadence)
    : thresholds_(&thresholds), repeat_after_(cadence.tick_window.count() * 9 / 10) {}

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
