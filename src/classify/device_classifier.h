#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <optional>

#include "classify/cadence.h"
#include "classify/cell.h"
#include "classify/dense_second.h"
#include "classify/held_readings.h"
#include "classify/stretch.h"
#include "classify/tick_counter.h"
#include "telemetry/reading_times.h"
#include "telemetry/run_facts.h"

namespace idleburn {

// Turns the samples of one device, in order of time, into DeviceTotals.
//
// The grid is wall-aligned seconds. A device that reports several times a second (Cadence::Fast) is read by
// DenseSecond, a slower one by HeldReadings; which one may change while a log goes on. What both need stands here: when
// a row was read, rows of one time, peaks, facts of the board, silences that may end a run.
class DeviceClassifier {
 public:
  // `thresholds` and `window` outlive the classifier. `max_sm_khz`: 0 if unknown; a reading of it replaces it.
  // `window`, if given, cuts off what was read before and after it; it may be filled in while samples come.
  DeviceClassifier(const Thresholds& thresholds, const Cadence& cadence, std::int64_t max_sm_khz,
                   const RunWindow* window = nullptr);

  void Feed(const Sample& sample) {
    const std::int64_t time = sample.time.nanos() + clock_.shift();
    if (sample.present == second_.usual() && sample.unavailable == 0 && IsNext(time)) {
      if (time >= second_.end()) BeginUsualSecond(time);
      FeedUsual(sample, time);
    } else {
      FeedAny(sample);
    }
  }
  // The same for the `rows` of the columns that are of this device, in their order. Each is later than the one before
  // it, by no more than readings are held. `sums` is for the call alone.
  void Feed(const SampleColumns& columns, std::span<const std::uint32_t> rows, RowSums& sums);
  // End of input: closes what is open. Nothing may be fed afterwards.
  void Close();

  [[nodiscard]] const DeviceTotals& totals() {
    SettleUsual();
    return totals_;
  }
  // After Close: the parts of its time without a long silence, in order. What silences between them add if the run
  // goes on is not in the totals. One part where it is known when the run began.
  [[nodiscard]] std::vector<Stretch> Stretches() const;
  // Runs of equal scrapes, of a device that is not read several times a second. Not part of the totals, because they
  // add up in order of time alone.
  [[nodiscard]] const CollectionRuns& collections() {
    collections_.Settle();
    return collections_.runs();
  }

  // Window of the device on the run's time line: whole seconds where Fast, else first to last sample.
  [[nodiscard]] Instant first() const { return Instant::FromNanos(first_); }
  [[nodiscard]] Instant last() const { return Instant::FromNanos(last_edge_); }
  // From the sample at `next` on the device is read as `cadence` says: its counter begins or changes its pace there.
  // The last reading before is held as long as those that follow.
  void Adopt(const Cadence& cadence, Instant next);
  // From here on signals beside the counter are held as `cadence` says.
  void set_holds(const Cadence& cadence);
  // Of the newest sample; after the first.
  [[nodiscard]] Instant newest() const { return Instant::FromNanos(last_time_); }
  // What is known of the board before it is read: its power limit; and of a MIG instance what watches its board, which
  // outlives the classifier.
  void set_power_limit(std::optional<std::int64_t> milliwatts) { cells_.set_power_limit(milliwatts); }
  void set_board(const BoardWatch* board) { cells_.set_board(board); }
  // From here on another window, which outlives the classifier too.
  void set_window(const RunWindow* window) { window_ = window; }
  [[nodiscard]] std::int64_t clock_shift() const { return clock_.shift(); }
  // The stamp of the first row that lies in a gap between rows before it. Such rows are dropped as out of order.
  [[nodiscard]] std::optional<Instant> misplaced() const { return misplaced_; }

  // Last readings of slow-changing facts; absent if never read.
  [[nodiscard]] std::optional<std::int64_t> power_limit() const { return last_readings_.Known(Signal::kPowerLimit); }
  [[nodiscard]] std::optional<std::int64_t> default_limit() const {
    return last_readings_.Known(Signal::kPowerDefaultLimit);
  }
  [[nodiscard]] std::int64_t max_sm_khz() const { return max_sm_khz_; }
  [[nodiscard]] bool xid_seen() const { return xid_seen_; }

 private:
  void FeedUsual(const Sample& sample, std::int64_t time) {
    const std::int64_t value = sample.Get(*cadence_.counter);
    second_.AddUsualCounter(value);
    ticks_.OnReading(time, value, totals_);
    for (const DenseSecond::Averaged signal : second_.usual_signals()) {
      const std::int64_t side = sample.value[signal.index];
      second_.AddUsualSide(signal.slot, side);
      last_readings_[signal.index].value = side;
      if (side > totals_.range[signal.slot].peak) RaisePeak(signal.slot, side, time);
    }
    if (value > totals_.range[counter_slot_].peak) RaisePeak(counter_slot_, value, time);
    last_time_ = time;
  }
  bool SumUsual(const SampleColumns& columns, std::span<const std::uint32_t> rows, RowSums& sums);
  void FeedUsual(const SampleColumns& columns, std::span<const std::uint32_t> rows, RowSums& sums);
  void NoteUsualPeaks(const SampleColumns& columns, std::span<const std::uint32_t> rows);
  void BeginUsualSecond(std::int64_t time) {
    SettleUsual();
    BeginSecond(time);
  }
  // A new time, with no gap before it.
  [[nodiscard]] bool IsNext(std::int64_t time) const { return time > last_time_ && time - last_time_ <= hold_; }
  void FeedAny(const Sample& sample);
  void FeedSameTime(const Sample& sample);
  void AverageRepeated(const Sample& sample);
  void RaisePeak(std::size_t slot, std::int64_t value, std::int64_t time);
  void NotePeaks(const Sample& sample, std::int64_t time);
  void TakeRow(const Sample& sample, std::int64_t time);
  void SettleUsual();
  void ChooseUsual(const Sample& sample);
  bool Place(const Sample& sample);
  void BeginSecond(std::int64_t time);
  void FeedDense(const Sample& sample, std::int64_t time);
  void CloseSecond();
  [[nodiscard]] std::int64_t LongestSilence() const;
  [[nodiscard]] Stretch OpenStretch() const;
  [[nodiscard]] Silence SilenceUntil(std::int64_t time);
  void EndStretch(std::int64_t time);
  void FeedHeld(const Sample& sample, std::int64_t time);
  void Advance(std::int64_t to);
  void CloseHeld();
  void CloseOpen();
  void NoteRare(const Sample& sample, std::int64_t time);
  void NoteFacts(const Sample& sample);
  void TellLimits();
  void NoteEnergy(std::int64_t millijoules, std::int64_t time);
  void WatchStuckCounters(const Sample& sample, std::int64_t time);

  // [from, to) of the open second that lies in the window; empty where to <= from.
  struct Part {
    std::int64_t from;
    std::int64_t to;
  };
  [[nodiscard]] Part OpenPart() const;
  // The instant of the window that is nearest to `time`.
  [[nodiscard]] std::int64_t InWindow(std::int64_t time) const;

  const Thresholds* thresholds_;
  const RunWindow* window_;
  Cadence cadence_;
  bool fast_;
  std::uint32_t counter_bit_;
  std::size_t counter_slot_;  // of kMeasured; any where there is no counter
  std::int64_t hold_;         // rows are farther apart only where some are missing
  std::int64_t max_sm_khz_;

  DeviceTotals totals_;
  CellAccumulator cells_;
  TickCounter ticks_;
  CollectionWatch collections_;
  LastReadings last_readings_;
  DenseSecond second_;
  HeldReadings held_;

  DeviceClock clock_;
  std::optional<Instant> misplaced_;
  std::int64_t first_ = INT64_MAX;
  std::int64_t last_edge_ = INT64_MIN;
  std::int64_t last_time_ = INT64_MIN;
  std::uint32_t said_ = 0;               // the signals that had a value at last_time_
  std::uint32_t lacked_ = 0;             // and those that a source declared missing
  std::int64_t differs_at_ = INT64_MIN;  // the last time with different readings
  SameStamp same_stamp_;                 // of last_time_
  std::int64_t last_energy_ = -1;
  std::int64_t last_energy_time_ = 0;
  std::array<std::int64_t, 2> stuck_since_ = {INT64_MIN, INT64_MIN};
  bool xid_seen_ = false;
  std::vector<Stretch> stretches_;  // that ended
  RunTime ended_;                   // their time
  std::int64_t begun_ = INT64_MIN;  // when the open one began, after others
  bool energy_crosses_ = false;     // the energy counter was read before the last silence and not since
};

}  // namespace idleburn
