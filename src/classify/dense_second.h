#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "base/int128.h"
#include "classify/cadence.h"
#include "classify/cell.h"
#include "classify/held_readings.h"

namespace idleburn {

// How a device is read that reports several times a second. Speed matters here more than anywhere else: such logs have
// millions of rows. DenseSecond holds the open second, RowSums adds up many rows at once, and SpanMean turns their sums
// into exact means.

// The mean of `count` readings over `span` ns: their sum x span / count, rounded half to even. It is fast for many sums
// of one span and count. What is divided is divided once, and a sum then takes three multiplications.
class SpanMean {
 public:
  constexpr SpanMean() : SpanMean(1, 1) {}
  // `span` is in nanoseconds. Both are more than 0.
  constexpr SpanMean(std::int64_t span, std::int64_t count)
      : span_(span),
        count_(count),
        whole_(span / count),
        rest_(static_cast<std::uint64_t>(span % count)),
        half_(static_cast<std::uint64_t>(count) / 2),
        inverse_(UINT64_MAX / static_cast<std::uint64_t>(count) + (count > 1 ? 1 : 0)),
        may_tie_(count % 2 == 0) {
    if (count > INT32_MAX) return;
    const std::uint64_t most_left = UINT64_MAX / static_cast<std::uint64_t>(count);
    most_ = std::min<std::uint64_t>((most_left - half_) / std::max<std::uint64_t>(rest_, 1), INT64_MAX);
  }

  [[nodiscard]] std::int64_t span() const { return span_; }
  [[nodiscard]] std::int64_t count() const { return count_; }

  // The mean of readings with this sum. Exact for every sum.
  [[nodiscard]] Int128 Of(std::int64_t sum) const {
    const auto size = static_cast<std::uint64_t>(sum);  // of a sum below 0: beyond most_
    if (size > most_) return DivHalfEven(static_cast<Int128>(sum) * span_, count_);
    // sum x span / count = sum x whole_ + (sum x rest_) / count. `left` is at most 2^64 / count. The inverse exceeds
    // 2^64 / count by less than 1. So the quotient is exact.
    const std::uint64_t left = size * rest_ + half_;
    const auto quotient = static_cast<std::uint64_t>(static_cast<Uint128>(left) * inverse_ >> 64);
    const Int128 half_up = static_cast<Int128>(sum) * whole_ + static_cast<std::int64_t>(quotient);
    // No branch: whether the rest is a half is a matter of chance.
    const bool tie = may_tie_ & (quotient * static_cast<std::uint64_t>(count_) == left);
    return half_up - (static_cast<std::int64_t>(half_up) & static_cast<std::int64_t>(tie));
  }

 private:
  std::int64_t span_;
  std::int64_t count_;
  std::int64_t whole_;
  std::uint64_t rest_;
  std::uint64_t half_;
  std::uint64_t inverse_;   // 2^64 / count, rounded up
  std::uint64_t most_ = 0;  // the largest sum that is multiplied
  bool may_tie_;            // only an even count leaves a rest of exactly a half
};

// Running sums of columns over the rows of one device: the sum over any stretch of rows is a difference. Stretches are
// short and end at random, and a loop that ends at random costs more than its steps.
class RowSums {
 public:
  // One signal of all devices, and the highest value of it that the device at hand had before. `values` outlive the
  // call.
  struct Column {
    const std::int64_t* values = nullptr;
    std::int64_t peak = 0;
  };
  // Sums those rows of every column. Returns whether some value is beyond the peak before it.
  bool Set(std::span<const Column> columns, std::span<const std::uint32_t> rows) {
    pairs_ = (columns.size() + 1) / 2;
    room_ = rows.size() + 1;
    if (sums_.size() < pairs_ * room_) sums_.resize(pairs_ * room_);
    bool beyond = false;
    for (std::size_t k = 0; k < columns.size(); k += 4) {
      const auto at = [&](std::size_t i) { return columns[std::min(k + i, columns.size() - 1)]; };
      Pair* const sums = &sums_[k / 2 * room_];
      const bool four = columns.size() - k > 2;
      beyond |= four ? SumFour(at(0), at(1), at(2), at(3), rows, sums) : SumPair(at(0), at(1), rows, sums);
    }
    return beyond;
  }
  // The sums of every column over rows [from, to), in their order. `into` has room for an even number of them.
  void SumsOf(std::size_t from, std::size_t to, std::int64_t* into) const {
    const Pair* sums = sums_.data();
    for (std::size_t pair = 0; pair < pairs_; ++pair, sums += room_) {
      *into++ = sums[to][0] - sums[from][0];
      *into++ = sums[to][1] - sums[from][1];
    }
  }

 private:
  // The sums of two columns: with two to a register one costs half.
  using Pair __attribute__((vector_size(2 * sizeof(std::int64_t)))) = std::int64_t;

  // Two columns while their rows are added up.
  struct Run {
    Run(const Column& first, const Column& second)
        : firsts(first.values), seconds(second.values), peak{first.peak, second.peak} {}
    void Add(std::uint32_t row, Pair* before) {
      const Pair value = {firsts[row], seconds[row]};
      *before = sum;
      sum += value;
      beyond |= value > peak;
    }
    [[nodiscard]] bool IsBeyond() const { return (beyond[0] | beyond[1]) != 0; }

    const std::int64_t* firsts;
    const std::int64_t* seconds;
    Pair peak;
    Pair sum = {0, 0};
    Pair beyond = {0, 0};
  };

  static bool SumPair(const Column& first, const Column& second, std::span<const std::uint32_t> rows, Pair* sums) {
    Run run(first, second);
    for (const std::uint32_t row : rows) run.Add(row, sums++);
    *sums = run.sum;
    return run.IsBeyond();
  }
  // Two pairs in one loop, which share its steps: these are a third of what a pair costs.
  bool SumFour(const Column& first, const Column& second, const Column& third, const Column& fourth,
               std::span<const std::uint32_t> rows, Pair* sums) const {
    Run one(first, second);
    Run other(third, fourth);
    Pair* others = sums + room_;
    for (const std::uint32_t row : rows) {
      one.Add(row, sums++);
      other.Add(row, others++);
    }
    *sums = one.sum;
    *others = other.sum;
    return one.IsBeyond() || other.IsBeyond();
  }

  std::size_t pairs_ = 0;
  // For each pair: the sums of no row, of the first, of the first two...
  std::size_t room_ = 0;
  // There may be more of them than are used.
  std::vector<Pair> sums_;
};

// What a signal was in a second is the mean of its readings in it. A second with a reading of the busy counter counts
// whole; one without is unobserved.
//
// This holds the sums of the second that is open. Most rows carry the same signals as the row before, all of them
// averaged. Of such usual rows only the sums are kept at once, and SettleUsual counts them.
class DenseSecond {
 public:
  // A signal and its place in kMeasured.
  struct Averaged {
    std::size_t index;
    std::size_t slot;
  };

  // `has_counter`: the device has a busy counter.
  explicit DenseSecond(bool has_counter) : has_counter_(has_counter) { Forget(); }

  [[nodiscard]] bool open() const { return end_ != INT64_MIN; }
  // The end of the open second in nanoseconds since the epoch; INT64_MIN: none is open.
  [[nodiscard]] std::int64_t end() const { return end_; }
  void Begin(std::int64_t end) { end_ = end; }
  void Leave() { end_ = INT64_MIN; }
  // From here on the device has a busy counter or has none, and its rows may carry other signals.
  void Restart(bool has_counter) {
    has_counter_ = has_counter;
    ExpectNothing();
    why_empty_ = Unobserved::kGap;
  }

  // One reading of the busy counter, and one of another signal by its slot.
  void AddCounter(std::int64_t value) {
    sum_ += value;
    ++count_;
  }
  void AddSide(std::size_t slot, std::int64_t value) {
    read_slots_ |= std::uint32_t{1} << slot;
    side_sum_[slot] += value;
    ++side_count_[slot];
  }
  // Adds a mask of kEventReasons `times` times; -1 takes one back.
  void CountReasons(std::int64_t mask, std::int64_t times) { masks_.Add(mask, times); }
  // A reading that was counted was larger by this.
  void AmendCounter(std::int64_t by) { sum_ += by; }
  void AmendSide(std::size_t slot, std::int64_t by) { side_sum_[slot] += by; }
  // The source said why the counter has no value.
  void Lacks(Unobserved why) { why_empty_ = why; }

  // --- usual rows
  // The signals of a usual row; UINT32_MAX, which no row has, where none is expected.
  [[nodiscard]] std::uint32_t usual() const { return usual_; }
  [[nodiscard]] std::span<const Averaged> usual_signals() const { return std::span(usual_signal_).first(usual_count_); }
  // Expects rows of these signals, the busy counter among them.
  void Expect(std::uint32_t signals);
  void ExpectNothing() { usual_ = UINT32_MAX; }
  // The readings of one usual row: one of each of its signals, then the counter's.
  void AddUsualSide(std::size_t slot, std::int64_t value) { side_sum_[slot] += value; }
  void AddUsualCounter(std::int64_t value) {
    sum_ += value;
    ++usual_rows_;
  }
  // The usual rows [from, to) of `sums`, whose columns are usual_signals() and then the counter.
  void AddUsual(const RowSums& sums, std::size_t from, std::size_t to);
  // Counts the usual rows since the last call, and returns how many they were.
  std::int64_t SettleUsual();

  // What the open second was over the `span` ns of it that belong to the run (> 0). A signal that was not read in it is
  // held from before, for as long as the cadence says. The answer lives until Forget.
  const Cell& Mean(std::int64_t span, const LastReadings& last, const Cadence& cadence);
  // Forgets the open second's readings.
  void Forget();

 private:
  // Seconds mostly have one of two counts of readings, in turn, so each count has a place of its own.
  const SpanMean& MeanOver(std::int64_t span, std::int64_t count) {
    SpanMean& mean = means_[static_cast<std::size_t>(count) % means_.size()];
    if (mean.count() != count || mean.span() != span) mean = SpanMean(span, count);
    return mean;
  }
  void SetReasons(std::int64_t span);

  bool has_counter_;
  std::int64_t end_ = INT64_MIN;
  // Of the busy counter: the sum of its readings and how many they were.
  std::int64_t sum_ = 0;
  std::int64_t count_ = 0;
  // The averaged signals that were ever read, a bit each.
  std::uint32_t read_slots_ = 0;
  std::array<std::int64_t, kAveragedCount> side_sum_{};  // by Slot
  std::array<std::int64_t, kAveragedCount> side_count_{};
  ReasonWeights masks_;  // in readings
  Unobserved why_empty_ = Unobserved::kUnsupported;
  std::array<SpanMean, 16> means_;  // by the count of readings
  // All 0 between uses but for what every use sets: to clear it whole costs more than to fill it.
  Cell cell_;

  std::uint32_t usual_ = UINT32_MAX;
  std::size_t usual_count_ = 0;
  std::array<Averaged, kAveragedCount> usual_signal_{};
  // Rows that are summed and not counted yet.
  std::int64_t usual_rows_ = 0;
};

}  // namespace idleburn
