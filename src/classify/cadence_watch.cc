#include "classify/cadence_watch.h"

#include <algorithm>
#include <bit>

#include "telemetry/reading_times.h"

namespace idleburn {

namespace {

constexpr std::size_t kEnough = kIntervals + PeriodWatch::kJudged - 1;  // to judge from each of the first 101

// By a factor of at least two, either way.
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

// The rows after `from` are counted as they come, so that a piece is ruled out as soon as the rest could not make up
// for those in step.
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

// Readers that take turns make short intervals, which are in step from here on.
void PeriodWatch::AllowShortest(std::size_t intervals) {
  for (std::size_t i = 0; i < intervals; ++i) shortest_ = std::min(shortest_, Interval(i));
}

// Drops rows up to the next interval that is out of step, if there is one.
void PeriodWatch::DropTo(std::size_t from) {
  collects_ = false;
  for (std::size_t i = from; i + 1 < rows_.size(); ++i) {
    if (Interval(i) > low() && Interval(i) < high()) continue;
    rows_.erase(rows_.begin(), rows_.begin() + static_cast<std::ptrdiff_t>(i));
    return;
  }
  rows_.clear();
}

// The pace may change again within the intervals that tell the period.
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

void Adopt(const CadencePiece& piece, DeviceClassifier& live) {
  if (piece.by_counter) {
    live.Adopt(piece.cadence, piece.from);
  } else {
    live.set_holds(piece.cadence);
  }
}

// Where the user gives the period, or readings last until the next one, there is no pace to follow.
CadenceWatch::CadenceWatch(const Thresholds& thresholds, const Cadence& cadence, Instant start, std::size_t most)
    : thresholds_(&thresholds), most_(most), cadence_(cadence) {
  pieces_.push_back({start, start, cadence, true});
  if (thresholds.period || cadence.spans) return;
  const auto follow = [&](std::size_t signal, std::int64_t period) {
    if (period <= 0 || ((watched_ >> signal) & 1) != 0) return;
    tracks_.push_back({signal, PeriodWatch(period)});
    watched_ |= std::uint32_t{1} << signal;
  };
  if (cadence.counter) follow(Index(*cadence.counter), cadence.period.count());
  for (std::size_t signal = 0; signal < kSignalCount && !thresholds.max_gap; ++signal) {
    follow(signal, cadence.hold[signal] * 10 / thresholds.max_gap_tenths);
  }
  if (watched_ != 0) set_ = kNoSet;
}

// The watches do not know the readings that passed by the quick way. The last of these was at last_.
void CadenceWatch::LeaveSet() {
  for (Track& track : tracks_) {
    if (set_ == kNoSet || ((set_ >> track.signal) & 1) == 0) continue;
    track.watch.set_last({last_, first_row_});
  }
  if (set_ != kNoSet && set_ != 0) newest_ = std::max(newest_, last_);
  set_ = kNoSet;
}

// The bounds are those of the strictest watch. Without a watch they only keep the order of time.
void CadenceWatch::ChooseSet(std::uint32_t signals, std::int64_t stamp) {
  if (!rows_.empty()) return;
  std::int64_t low = 0;
  std::int64_t high = std::max(cadence_.max_gap.count(), kNanosPerSecond);
  for (const Track& track : tracks_) {
    if (((signals >> track.signal) & 1) == 0) continue;
    if (track.watch.last().time != stamp || track.watch.last().number < 0) return;
    low = std::max(low, track.watch.low());
    high = std::min(high, track.watch.high());
  }
  if ((signals == 0 && !tracks_.empty()) || high <= low + 1) return;
  set_ = signals;
  last_ = stamp;
  low_ = low + 1;
  width_ = static_cast<std::uint64_t>(high - low_);
}

void CadenceWatch::Note(std::uint32_t signals, std::int64_t stamp) {
  const PeriodWatch::Row row{stamp, first_row_ + static_cast<std::int64_t>(rows_.size())};
  for (Track& track : tracks_) {
    if (((signals >> track.signal) & 1) == 0) continue;
    track.watch.Note(row, scratch_);
    KeepOpened(track.signal);
  }
}

void CadenceWatch::KeepOpened(std::size_t signal) {
  for (const PeriodWatch::Piece& piece : scratch_) opened_.push_back({signal, piece});
  scratch_.clear();
}

// The way of every sample that is not in step with the set.
void CadenceWatch::FeedAny(const Sample& sample, DeviceClassifier& live) {
  const std::uint32_t signals = (sample.present | sample.unavailable) & watched_;
  const std::int64_t stamp = sample.time.nanos();
  LeaveSet();
  const std::int64_t hold = std::max(cadence_.max_gap.count(), kNanosPerSecond);
  if (newest_ != INT64_MIN && stamp < newest_ - hold) {  // the clock was set back, or a log begins anew
    End(live);
    for (Track& track : tracks_) track.watch.Forget();
    newest_ = stamp;
  }
  newest_ = std::max(newest_, stamp);
  Note(signals, stamp);
  const auto waits = [](const Track& track) { return track.watch.waits(); };
  if (rows_.empty() && std::none_of(tracks_.begin(), tracks_.end(), waits)) {
    live.Feed(sample);
  } else {
    rows_.push_back(sample);
    if (rows_.size() >= most_) return End(live);
    Release(live);
  }
  ChooseSet(signals, stamp);
}

void CadenceWatch::Feed(const SampleColumns& columns, std::span<const std::uint32_t> rows, RowSums& sums,
                        DeviceClassifier& live) {
  Sample sample;
  for (std::size_t at = 0; at < rows.size();) {
    std::size_t to = at;
    if ((columns.present & watched_) == set_) {
      const std::uint32_t* const row = rows.data();
      std::int64_t last = last_;
      for (; to < rows.size(); ++to) {
        const std::int64_t stamp = columns.times[row[to]].nanos();
        if (static_cast<std::uint64_t>(stamp - last - low_) >= width_) break;
        last = stamp;
      }
      last_ = last;
    }
    if (to > at) {
      live.Feed(columns, rows.subspan(at, to - at), sums);
      at = to;
      continue;
    }
    columns.Get(rows[at++], sample);
    FeedAny(sample, live);
  }
}

// From this row on the device is read as the pieces say that open with it.
void CadenceWatch::Change(std::int64_t row, DeviceClassifier& live) {
  const Sample& next = rows_[static_cast<std::size_t>(row - first_row_)];
  if (next.time + Nanos(live.clock_shift()) < live.newest()) return;  // of a log that begins anew, and was there
  CadencePiece piece{next.time, next.time, cadence_, false};
  bool changed = false;
  for (const Opened& opened : opened_) {
    if (opened.piece.row != row) continue;
    changed = true;
    const std::int64_t hold = opened.piece.period * thresholds_->max_gap_tenths / 10;
    piece.cadence.hold[opened.signal] = cadence_.hold[opened.signal] != 0 ? hold : 0;
    if (!cadence_.counter || opened.signal != Index(*cadence_.counter)) continue;
    piece.by_counter = true;
    piece.start = Instant::FromNanos(opened.piece.start);
    piece.cadence.period = Nanos(opened.piece.period);
    piece.cadence.max_gap = thresholds_->max_gap.value_or(Nanos(hold));
    if (cadence_.tick_window == Nanos(0)) {
      const auto from = static_cast<std::size_t>(row - first_row_);
      piece.cadence.tick_window = MeasureCadence(std::span(rows_).subspan(from), *thresholds_).tick_window;
    }
  }
  if (!changed) return;
  cadence_ = piece.cadence;
  Adopt(piece, live);
  pieces_.push_back(piece);
}

// What waits is fed up to the first row that some watch has not decided.
void CadenceWatch::Release(DeviceClassifier& live) {
  std::int64_t to = first_row_ + static_cast<std::int64_t>(rows_.size());
  for (const Track& track : tracks_) {
    if (track.watch.waits()) to = std::min(to, track.watch.waits_from());
  }
  if (to == first_row_) return;
  for (std::int64_t row = first_row_; row < to; ++row) {
    const bool opens = std::any_of(opened_.begin(), opened_.end(), [=](const Opened& o) { return o.piece.row == row; });
    if (opens) Change(row, live);
    live.Feed(rows_[static_cast<std::size_t>(row - first_row_)]);
  }
  std::erase_if(opened_, [=](const Opened& o) { return o.piece.row < to; });
  rows_.erase(rows_.begin(), rows_.begin() + static_cast<std::ptrdiff_t>(to - first_row_));
  first_row_ = to;
}

void CadenceWatch::End(DeviceClassifier& live) {
  for (Track& track : tracks_) {
    track.watch.End(scratch_);
    KeepOpened(track.signal);
  }
  Release(live);
}

}  // namespace idleburn
