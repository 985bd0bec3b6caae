#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <utility>

#include "classify/cadence.h"
#include "classify/cell.h"
#include "classify/last_readings.h"
#include "classify/row_sums.h"
#include "classify/span_mean.h"

namespace idleburn {

// How a device is read that reports several times a second: what a signal was in a second is the mean of its readings
// in it. A second with a reading of the busy counter counts whole; one without is unobserved.
//
// Holds the sums of the second that is open. Most rows carry the same signals as the row before, all of them averaged.
// Of such usual rows only the sums are kept at once; SettleUsual counts them.
class DenseSecond {
 public:
  struct Averaged {
    std::size_t index;  // of the signal
    std::size_t slot;   // of it in kMeasured
  };

  explicit DenseSecond(bool has_counter) : has_counter_(has_counter) { Forget(); }

  [[nodiscard]] bool open() const { return end_ != INT64_MIN; }
  [[nodiscard]] std::int64_t end() const { return end_; }  // in nanoseconds; INT64_MIN: none is open
  void Begin(std::int64_t end) { end_ = end; }
  void Leave() { end_ = INT64_MIN; }
  // From here on the device has a busy counter or has none, and rows may carry other signals.
  void Restart(bool has_counter) {
    has_counter_ = has_counter;
    ExpectNothing();
    why_empty_ = Unobserved::kGap;
  }

  void AddCounter(std::int64_t value) {
    sum_ += value;
    ++count_;
  }
  void AddSide(std::size_t slot, std::int64_t value) {
    read_slots_ |= std::uint32_t{1} << slot;
    side_sum_[slot] += value;
    ++side_count_[slot];
  }
  // Adds a mask of kEventReasons; `times` may be -1, which takes one back.
  void CountReasons(std::int64_t mask, std::int64_t times);
  // A reading that was counted was `by` larger.
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
  // held from before, as long as the cadence says. The answer lives until Forget.
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
  std::int64_t sum_ = 0;  // of the busy counter
  std::int64_t count_ = 0;
  std::uint32_t read_slots_ = 0;                         // of the averaged signals ever read, a bit each
  std::array<std::int64_t, kAveragedCount> side_sum_{};  // by Slot
  std::array<std::int64_t, kAveragedCount> side_count_{};
  std::int64_t mask_count_ = 0;
  std::array<std::int64_t, kEventReasonCount> reason_count_{};
  std::int64_t throttled_count_ = 0;
  std::int64_t slowdown_count_ = 0;
  std::int64_t power_cap_count_ = 0;
  Unobserved why_empty_ = Unobserved::kUnsupported;
  std::array<SpanMean, 16> means_;  // by the count of readings
  Cell cell_;  // all 0 between uses but for what every use sets: to clear it whole costs more than to fill it

  std::uint32_t usual_ = UINT32_MAX;
  std::size_t usual_count_ = 0;
  std::array<Averaged, kAveragedCount> usual_signal_{};
  std::int64_t usual_rows_ = 0;  // that are summed and not counted yet
};

}  // namespace idleburn
