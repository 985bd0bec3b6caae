#include "classify/period_watch.h"

#include <algorithm>

#include "telemetry/reading_times.h"

namespace idleburn {
namespace {

constexpr std::size_t kEnough = kIntervals + PeriodWatch::kJudged - 1;  // to judge from each of the first 101

bool Differs(std::int64_t a, std::int64_t b) { return a / 2 >= b || b / 2 >= a; }

}  // namespace

void PeriodWatch::Note(Row row, std::vector<Piece>& opened) {
  if (last_.number < 0) {
    last_ = row;
    return;
  }
  const std::int64_t interval = row.time - last_.time;
  if (interval <= 0) return;
  if (rows_.empty() && interval > low() && interval < high()) {
    last_ = row;
    return;
  }
  if (rows_.empty()) rows_.push_back(last_);
  rows_.push_back(row);
  last_ = row;
  Judge(false, opened);
}

std::int64_t PeriodWatch::PeriodOfIntervals(std::size_t from, std::size_t to) const {
  std::vector<std::int64_t> intervals;
  for (std::size_t i = from; i < to; ++i) intervals.push_back(Interval(i));
  return PeriodOf(intervals);
}

PeriodWatch::Verdict PeriodWatch::Opens(std::size_t from, std::int64_t low, std::int64_t high, bool ended) const {
  const bool slow = Interval(from) >= high;
  if (!slow && Interval(from) > low) return Verdict::kSame;
  const std::size_t seen = std::min(rows_.size() - 1 - from, kJudged);
  std::size_t out_of_step = 0;
  for (std::size_t i = 0; i < seen; ++i) {
    if (slow ? Interval(from + i) >= high : Interval(from + i) <= low) ++out_of_step;
    if (i < kOnset && out_of_step + (kOnset - 1 - i) < kOnset / 2 + 1) return Verdict::kSame;
  }
  if (out_of_step + (kJudged - seen) < kMiddle) return Verdict::kSame;
  if (seen < kJudged) return ended ? Verdict::kSame : Verdict::kWait;
  const std::int64_t period = PeriodOfIntervals(from, from + kJudged);
  return (slow ? period >= high : 4 * period <= high) ? Verdict::kNew : Verdict::kTurns;
}

void PeriodWatch::AllowShortest(std::size_t intervals) {
  for (std::size_t i = 0; i < intervals; ++i) shortest_ = std::min(shortest_, Interval(i));
}

void PeriodWatch::DropTo(std::size_t from) {
  collects_ = false;
  for (std::size_t i = from; i + 1 < rows_.size(); ++i) {
    if (Interval(i) > low() && Interval(i) < high()) continue;
    rows_.erase(rows_.begin(), rows_.begin() + static_cast<std::ptrdiff_t>(i));
    return;
  }
  rows_.clear();
}

std::size_t PeriodWatch::OwnIntervals(std::int64_t period) const {
  const std::size_t intervals = rows_.size() - 1;
  for (std::size_t from = 1; from < intervals && from < kIntervals; ++from) {
    if (Opens(from, period / 2, 2 * period, true) == Verdict::kNew) return from;
  }
  return std::min(intervals, kIntervals);
}

void PeriodWatch::Judge(bool ended, std::vector<Piece>& opened) {
  while (!rows_.empty()) {
    const Verdict verdict = collects_ ? Verdict::kNew : Opens(0, low(), high(), ended);
    if (verdict == Verdict::kWait) return;
    if (verdict != Verdict::kNew) {
      if (verdict == Verdict::kTurns) AllowShortest(kJudged);
      DropTo(1);
      continue;
    }
    collects_ = true;
    if (rows_.size() - 1 < kEnough && !ended) return;
    const std::size_t own = OwnIntervals(PeriodOfIntervals(0, kJudged));
    const std::int64_t period = PeriodOfIntervals(0, own);
    if (own >= kJudged && Differs(period, period_)) {
      opened.push_back({rows_[0].time, rows_[1].number, period});
      period_ = shortest_ = period;
    } else if (own >= kJudged) {
      AllowShortest(own);
    }
    DropTo(own);
  }
}

}  // namespace idleburn
