#include "classify/tick_counter.h"

#include <algorithm>
#include <numeric>

namespace idleburn {

namespace {

// A little less than W, as stamps are rounded to milliseconds and jitter; but not so much that one poll more fits in.
std::int64_t RepeatAfter(const Cadence& cadence) {
  const std::int64_t window = (cadence.tick_window > Nanos(0) ? cadence.tick_window : kLongestTickWindow).count();
  return window - std::min(window / 10, cadence.period.count() / 2);
}

}  // namespace

TickCounter::TickCounter(const Thresholds& thresholds, const Cadence& cadence)
    : thresholds_(&thresholds), repeat_after_(RepeatAfter(cadence)) {}

// Whether a row is a reading, and of which band, changes at random: a branch would be guessed wrong too often. So a row
// is a step in a table, and everything that it needs stays in registers.
std::size_t TickCounter::OnReadings(const Readings& readings, std::size_t from, std::int64_t* last,
                                    DeviceTotals& totals) {
  const std::int64_t idle = thresholds_->idle_below;
  const std::int64_t productive = thresholds_->productive_from;
  const std::int64_t bound = thresholds_->bound_from;
  const std::int64_t repeat_after = repeat_after_;
  const std::size_t end = std::min(readings.rows.size(), from + TickStep::kMost);
  const auto time_of = [&](std::size_t at) { return readings.times[readings.rows[at]].nanos() + readings.shift; };
  if (from == end || time_of(from) <= *last || time_of(from) >= readings.end) return from;
  if (time_of(from) >= anchor_end_) Anchor(time_of(from));
  const std::int64_t until = std::min(readings.end, anchor_end_);
  std::int64_t time = *last;
  std::int64_t last_tick = last_tick_;
  std::int64_t last_value = last_value_;
  std::uint64_t counts = 0;
  std::uint64_t extreme = extreme_;
  Before before = before_;
  std::int64_t sum = 0;
  std::int64_t squares = 0;
  std::size_t at = from;
  for (; at < end; ++at) {
    const std::int64_t next = time_of(at);
    if (next <= time || next >= until) break;
    time = next;
    const std::int64_t value = readings.values[readings.rows[at]];
    const auto fresh = static_cast<std::size_t>((value != last_value) | (time - last_tick >= repeat_after));
    before = {last_value, last_tick, extreme};
    last_value = value;
    last_tick = fresh != 0 ? time : last_tick;
    const std::size_t band = static_cast<std::size_t>(value >= idle) + static_cast<std::size_t>(value >= productive) +
                             static_cast<std::size_t>(value >= bound);
    const std::int64_t reading = static_cast<std::int64_t>(fresh) * InTickUnits(value);
    sum += reading;
    squares += reading * reading;
    const TickStep& step = kTickSteps[extreme][fresh][band];
    counts += step.counts;
    extreme = step.extreme;
  }
  *last = last_row_ = time;
  last_tick_ = last_tick;
  last_value_ = last_value;
  extreme_ = extreme;
  before_ = before;
  totals.tick_sum += sum;
  totals.tick_squares += squares;
  alternations_ += TickStep::Part(counts, TickStep::kAlternations);
  for (std::size_t band = 0; band < kPhaseCount; ++band) {
    const std::int64_t count = TickStep::Part(counts, band);
    totals.ticks[band] += count;
    block_ticks_[band] += count;
  }
  return at;
}

void TickCounter::Amend(std::int64_t value, DeviceTotals& totals) {
  const std::size_t band = BandOf(last_value_);
  const bool fresh = last_tick_ == last_row_;
  if (fresh) {
    const std::int64_t reading = InTickUnits(last_value_);
    --totals.ticks[band];
    --block_ticks_[band];
    totals.tick_sum -= reading;
    totals.tick_squares -= reading * reading;
  }
  const TickStep& step = kTickSteps[before_.extreme][fresh ? 1 : 0][band];
  alternations_ -= TickStep::Part(step.counts, TickStep::kAlternations);
  last_value_ = before_.value;
  last_tick_ = before_.tick;
  extreme_ = before_.extreme;
  OnReading(last_row_, value, totals);
}

void TickCounter::CloseBlock(std::int64_t time, DeviceTotals& totals) {
  // B = 4 x f_lo x f_hi > threshold, in integers.
  const std::int64_t ticks = std::accumulate(block_ticks_.begin(), block_ticks_.end(), std::int64_t{0});
  const std::int64_t b = 400 * block_ticks_.front() * block_ticks_.back();
  if (b > thresholds_->burst_percent * ticks * ticks && alternations_ >= thresholds_->burst_alternations) {
    totals.burst.ns += block_observed_ns_;
    totals.burst.area += block_area_;
  }
  const std::int64_t length = thresholds_->burst_block_seconds * kNanosPerSecond;
  block_end_ = time - time % length + length;
  block_observed_ns_ = block_area_ = alternations_ = 0;
  block_ticks_ = {};
  extreme_ = kNoExtreme;
}

}  // namespace idleburn
