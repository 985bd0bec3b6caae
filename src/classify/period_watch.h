#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace idleburn {

// Finds where the readings of one signal change their pace, so that each piece is read with its own period:
//
//     rows        |  |  |  |            |            |            |       period 2 s, then 20 s for good:
//     intervals     2  2  2       20           20          20             a new piece opens at the first 20 s
//
// A new piece opens where the median of 21 successive intervals differs from the piece's period by a factor of at least
// 2, at the first interval that does so itself, as do three of the first five: a row that came late shortly before the
// pace changed is no part of the new one. Its period is that of its own first 101 intervals (PeriodOf). A piece of
// fewer than 21 intervals is none: its slow rows are gaps. Rows wait from the first such interval on until they decide;
// a row that is late now and then is decided by the next three.
//
// Wrong for a pause that looks like a pace: 21 rows in a row that each came late by the same cause are a piece of their
// own, and what was missed between them counts as covered by the rows before. The pieces are shown for that reason.
class PeriodWatch {
 public:
  static constexpr std::size_t kJudged = 21;  // intervals
  static constexpr std::size_t kMiddle = 11;  // of them make their median
  static constexpr std::size_t kOnset = 5;    // of which three must be out of step
  struct Row {
    std::int64_t time;
    std::int64_t number;  // among the rows of the device
  };
  struct Piece {
    std::int64_t start;   // the row that its first interval begins with, ns
    std::int64_t row;     // number of the row that ends that interval
    std::int64_t period;  // ns
  };

  // `period` > 0.
  explicit PeriodWatch(std::int64_t period) : period_(period), shortest_(period) {}

  // Takes the next row, and the pieces that open by it.
  void Note(Row row, std::vector<Piece>& opened);
  // No row follows for now: what waits is decided as if the input ended here.
  void End(std::vector<Piece>& opened) { Judge(true, opened); }
  // The clock was set: the next row begins anew.
  void Forget() { last_.number = -1; }

  [[nodiscard]] bool waits() const { return !rows_.empty(); }
  [[nodiscard]] std::int64_t waits_from() const { return rows_[1].number; }
  [[nodiscard]] Row last() const { return last_; }
  void set_last(Row row) { last_ = row; }
  // Intervals that are in step lie between these, which are not.
  [[nodiscard]] std::int64_t low() const { return shortest_ / 2; }
  [[nodiscard]] std::int64_t high() const { return 2 * period_; }

 private:
  enum class Verdict : std::uint8_t { kWait, kSame, kTurns, kNew };

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

}  // namespace idleburn
