#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "classify/device_classifier.h"

namespace idleburn {

// A log may change its pace: somebody sets another interval, or a second reader comes. Read with the first period, rows
// that come more seldom would count as gaps. PeriodWatch finds such changes in one signal, and CadenceWatch makes a
// classifier follow those of all signals of a device.

// Finds where the readings of one signal change their pace, so that each piece is read with its own period:
//
//     rows        |  |  |  |            |            |            |       period 2 s, then 20 s for good:
//     intervals     2  2  2       20           20          20             a new piece opens at the first 20 s
//
// A new piece opens where the median of 21 successive intervals differs from the piece's period by a factor of at least
// 2. It opens at the first interval that does so itself, as do three of the first five: a row that came late shortly
// before the pace changed is no part of the new piece. Its period is that of its own first 101 intervals (PeriodOf).
//
// A piece of fewer than 21 intervals is none, and its slow rows are gaps. Rows wait from the first such interval on
// until they decide; a row that is late now and then is decided by the next three.
//
// Wrong for a pause that looks like a pace: 21 rows in a row that each came late by the same cause are a piece of their
// own. What was missed between them counts as covered by the rows before. The pieces are shown for that reason.
class PeriodWatch {
 public:
  // Intervals that are judged together, those that make their median, and the first of them, of which three must be out
  // of step.
  static constexpr std::size_t kJudged = 21;
  static constexpr std::size_t kMiddle = 11;
  static constexpr std::size_t kOnset = 5;
  // A row that names the signal. `number` counts the rows of the device.
  struct Row {
    std::int64_t time;
    std::int64_t number;
  };
  // A stretch of one pace, in nanoseconds. `start` is the row that its first interval begins with.
  struct Piece {
    std::int64_t start;
    // The number of the row that ends that interval.
    std::int64_t row;
    std::int64_t period;
  };

  // `period` > 0 is that of the first piece, in nanoseconds.
  explicit PeriodWatch(std::int64_t period) : period_(period), shortest_(period) {}

  // Takes the next row. Adds the pieces that open by it to `opened`.
  void Note(Row row, std::vector<Piece>& opened);
  // No row follows for now. What waits is decided as if the input ended here.
  void End(std::vector<Piece>& opened) { Judge(true, opened); }
  // The clock was set: the next row begins anew.
  void Forget() { last_.number = -1; }

  // Whether rows wait to be decided, and from which on.
  [[nodiscard]] bool waits() const { return !rows_.empty(); }
  [[nodiscard]] std::int64_t waits_from() const { return rows_[1].number; }
  // The newest row. It may be set where rows in step were not noted one by one.
  [[nodiscard]] Row last() const { return last_; }
  void set_last(Row row) { last_ = row; }
  // Intervals that are in step lie between these two, which are not in step themselves.
  [[nodiscard]] std::int64_t low() const { return shortest_ / 2; }
  [[nodiscard]] std::int64_t high() const { return 2 * period_; }

 private:
  // kTurns: several readers take turns, which is one pace.
  enum class Verdict : std::uint8_t { kWait, kSame, kTurns, kNew };

  // Decides what can be decided of the rows that wait. `ended`: nothing more comes.
  void Judge(bool ended, std::vector<Piece>& opened);
  // Intervals of the piece that opens with the first, up to where the pace changes again.
  [[nodiscard]] std::size_t OwnIntervals(std::int64_t period) const;
  // Whether a piece may open with interval `from` after one of these intervals in step: kNew as far as is seen yet.
  [[nodiscard]] Verdict Opens(std::size_t from, std::int64_t low, std::int64_t high, bool ended) const;
  [[nodiscard]] std::int64_t PeriodOfIntervals(std::size_t from, std::size_t to) const;
  [[nodiscard]] std::int64_t Interval(std::size_t i) const { return rows_[i + 1].time - rows_[i].time; }
  // Readers that take turns make intervals far below their common period, which are in step all the same.
  void AllowShortest(std::size_t intervals);
  // Goes on with the first interval from there on that is out of step.
  void DropTo(std::size_t from);

  std::int64_t period_;
  std::int64_t shortest_;  // interval that is usual
  Row last_{0, -1};
  std::vector<Row> rows_;  // that wait: the one before the first interval out of step, and all after it
  bool collects_ = false;  // the first 21 decided for a new piece
};

// How a device is read from one of its samples on.
struct CadencePiece {
  // The first sample that is read so.
  Instant from;
  // The piece begins with the sample before it, whose reading is the first to last so long.
  Instant start;
  Cadence cadence;
  // The counter changed its pace, not only another signal.
  bool by_counter = true;
};

// Makes the classifier read on as `piece` says, from the sample that is fed next.
void Adopt(const CadencePiece& piece, DeviceClassifier& live);

// Feeds the samples of one device to its classifier, and follows the pace of its counter and of every signal that is
// held (PeriodWatch). A sample that is in step goes straight on. Where one is not, samples wait until the next ones
// decide whether the pace changed, up to kMost of them (FirstSamples).
class CadenceWatch {
 public:
  // Follows nothing.
  CadenceWatch() = default;
  // `thresholds` outlives it. `start` is when the device was first read. `most`: samples that may wait.
  CadenceWatch(const Thresholds& thresholds, const Cadence& cadence, Instant start, std::size_t most);

  // Feeds the next sample, or lets it wait. Most samples are in step, so this way is short and inline.
  void Feed(const Sample& sample, DeviceClassifier& live) {
    const std::int64_t stamp = sample.time.nanos();
    if (((sample.present | sample.unavailable) & watched_) != set_ || !InStep(stamp)) return FeedAny(sample, live);
    last_ = stamp;
    live.Feed(sample);
  }
  // The same for those `rows` of the columns that are of this device. `sums` is for the call alone.
  void Feed(const SampleColumns& columns, std::span<const std::uint32_t> rows, RowSums& sums, DeviceClassifier& live);
  // The input ended, or makes a new start. Nothing waits any longer.
  void End(DeviceClassifier& live);

  // The cadence now; every piece so far, the first one included; and the samples that wait.
  [[nodiscard]] const Cadence& cadence() const { return cadence_; }
  [[nodiscard]] std::span<const CadencePiece> pieces() const { return pieces_; }
  [[nodiscard]] std::span<const Sample> waiting() const { return rows_; }

 private:
  static constexpr std::uint32_t kNoSet = UINT32_MAX;
  // The watch of one signal.
  struct Track {
    std::size_t signal;
    PeriodWatch watch;
  };
  // A piece of one signal whose first row was not reached yet.
  struct Opened {
    std::size_t signal;
    PeriodWatch::Piece piece;
  };

  [[nodiscard]] bool InStep(std::int64_t stamp) const {
    return static_cast<std::uint64_t>(stamp - last_ - low_) < width_;
  }
  void FeedAny(const Sample& sample, DeviceClassifier& live);
  // Notes a row with these signals at every watch of one of them.
  void Note(std::uint32_t signals, std::int64_t stamp);
  // Keeps the pieces that a watch of that signal has just found.
  void KeepOpened(std::size_t signal);
  // Tells the watches what passed by the quick way, and leaves it.
  void LeaveSet();
  // Sets up the quick way for rows like this one, where every watch is in step with it.
  void ChooseSet(std::uint32_t signals, std::int64_t stamp);
  // Feeds the rows on which nothing waits, and reads on by the pieces that open with them.
  void Release(DeviceClassifier& live);
  void Change(std::int64_t row, DeviceClassifier& live);

  const Thresholds* thresholds_ = nullptr;
  std::size_t most_ = 0;
  Cadence cadence_;
  std::vector<CadencePiece> pieces_;
  std::vector<Track> tracks_;
  std::uint32_t watched_ = 0;
  std::vector<PeriodWatch::Piece> scratch_;
  // Pieces that were found and not reached yet.
  std::vector<Opened> opened_;
  // The samples that wait.
  std::vector<Sample> rows_;
  // The number of the first of them, or of the next one.
  std::int64_t first_row_ = 0;
  std::int64_t newest_ = INT64_MIN;

  // The quick way. The samples before this one named the signals `set_`, all at last_. One more is in step if it names
  // them too, within [low_, low_ + width_) after that. A sample in step is later than last_, by no more than readings
  // are held, as DeviceClassifier::Feed of columns asks. That holds where nothing is followed, too.
  std::uint32_t set_ = 0;
  std::int64_t last_ = 0;
  std::int64_t low_ = 0;
  std::uint64_t width_ = 0;
};

}  // namespace idleburn
