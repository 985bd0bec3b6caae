#include "classify/tick_counter.h"

#include <algorithm>
#include <numeric>

namespace idleburn {

namespace {

// A little less than W, since stamps are rounded to milliseconds and jitter. It is not so much less that one poll more
// would fit in.
std::int64_t RepeatAfter(const Cadence& cadence) {
  const std::int64_t window = (cadence.tick_window > Nanos(0) ? cadence.tick_window : kLongestTickWindow).count();
  return window - std::min(window / 10, cadence.period.count() / 2);
}

}  // namespace

TickCounter::TickCounter(const Thresholds& thresholds, const Cadence& cadence)
    : thresholds_(&thresholds), repeat_after_(RepeatAfter(cadence)) {}

// A row is a step in the table, and all that it needs stays in registers. Stamps are compared as they stand in the
// column.
std::size_t TickCounter::OnReadings(const Readings& readings, std::size_t from, std::int64_t end,
                                    DeviceTotals& totals) {
  const Instant* const times = readings.times;
  const std::int64_t* const values = readings.values;
  const std::int64_t shift = readings.shift;
  const std::int64_t first = times[readings.rows[from]].nanos() + shift;
  if (first >= anchor_end_) Anchor(first);
  // Stamps stay as they are in the column: the bound is shifted once instead of every row.
  const std::int64_t until = std::min(std::max(end, block_end_), anchor_end_) - shift;
  const auto left = readings.rows.subspan(from, std::min(readings.rows.size() - from, TickStep::kMost));
  const auto past =
      std::partition_point(left.begin(), left.end(), [=](std::uint32_t row) { return times[row].nanos() < until; });
  const auto rows = left.first(static_cast<std::size_t>(past - left.begin()));
  const auto idle = static_cast<std::uint64_t>(thresholds_->idle_below);
  const auto productive = static_cast<std::uint64_t>(thresholds_->productive_from);
  const auto bound = static_cast<std::uint64_t>(thresholds_->bound_from);
  const std::int64_t repeat_after = repeat_after_;
  Before now{last_value_, last_tick_ - shift, extreme_};
  std::uint64_t counts = 0;
  std::int64_t sum = 0;
  std::int64_t squares = 0;
  const auto take = [&](std::uint32_t row) {
    const std::int64_t value = values[row];
    const std::int64_t since = times[row].nanos() - now.tick;
    const auto fresh = static_cast<std::size_t>((value != now.value) | (since >= repeat_after));
    const std::int64_t if_fresh = -static_cast<std::int64_t>(fresh);
    const std::int64_t reading = InTickUnits(value) & if_fresh;
    sum += reading;
    squares += reading * reading;
    const auto level = static_cast<std::uint64_t>(value);  // never below 0
    std::size_t band = 0;
    band += level >= idle ? 1 : 0;
    band += level >= productive ? 1 : 0;
    band += level >= bound ? 1 : 0;
    const TickStep& step = kTickSteps[now.extreme][fresh][band];
    counts += step.counts;
    now = {value, now.tick + (since & if_fresh), step.extreme};
  };
  for (const std::uint32_t row : rows.first(rows.size() - 1)) take(row);
  before_ = {now.value, now.tick + shift, now.extreme};
  take(rows.back());
  last_row_ = times[rows.back()].nanos() + shift;
  last_value_ = now.value;
  last_tick_ = now.tick + shift;
  extreme_ = now.extreme;
  totals.tick_sum += sum;
  totals.tick_squares += squares;
  alternations_ += TickStep::Part(counts, TickStep::kAlternations);
  for (std::size_t band = 0; band < kPhaseCount; ++band) {
    const std::int64_t count = TickStep::Part(counts, band);
    totals.ticks[band] += count;
    block_ticks_[band] += count;
  }
  return from + rows.size();
}

// Takes the last row back and gives it again with the other value.
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
