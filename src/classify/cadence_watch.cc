#include "classify/cadence_watch.h"

#include <algorithm>
#include <bit>

namespace idleburn {

void Adopt(const CadencePiece& piece, DeviceClassifier& live) {
  if (piece.by_counter) {
    live.Adopt(piece.cadence, piece.from);
  } else {
    live.set_holds(piece.cadence);
  }
}

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

// The signals of the set had their last readings at last_, which their own watches do not know yet.
void CadenceWatch::LeaveSet() {
  for (Track& track : tracks_) {
    if (set_ == kNoSet || ((set_ >> track.signal) & 1) == 0) continue;
    track.watch.set_last({last_, first_row_});
  }
  if (set_ != kNoSet && set_ != 0) newest_ = std::max(newest_, last_);
  set_ = kNoSet;
}

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
    for (const PeriodWatch::Piece& piece : scratch_) opened_.push_back({track.signal, piece});
    scratch_.clear();
  }
}

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

// Reads on from the row of this number as the pieces say that open with it.
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

// Feeds the rows on which nothing waits.
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
  opened_.erase(std::remove_if(opened_.begin(), opened_.end(), [=](const Opened& o) { return o.piece.row < to; }),
                opened_.end());
  rows_.erase(rows_.begin(), rows_.begin() + static_cast<std::ptrdiff_t>(to - first_row_));
  first_row_ = to;
}

void CadenceWatch::End(DeviceClassifier& live) {
  for (Track& track : tracks_) {
    track.watch.End(scratch_);
    for (const PeriodWatch::Piece& piece : scratch_) opened_.push_back({track.signal, piece});
    scratch_.clear();
  }
  Release(live);
}

}  // namespace idleburn
