// Turns the samples of one GPU into its UTC seconds. It uses the cells of the audit (classify/cell.h), so a second has
// the phase that an audit of the same samples gives it.

#pragma once

#include <array>
#include <cstdint>
#include <deque>
#include <optional>

#include "agent/gpu_second.h"
#include "classify/cell.h"
#include "classify/dense_second.h"
#include "classify/job_signal.h"
#include "classify/thresholds.h"
#include "telemetry/reading_times.h"
#include "telemetry/sample.h"

namespace idleburn {

// The seconds of one GPU, while its samples arrive. A sample belongs to the second of its stamp. Close takes seconds in
// order, each once, at a time when no more samples of it are expected.
//
// * A second with a reading of the busy counter counts whole, as the mean of its readings.
// * A second without one holds the last reading for 2.5 of its intervals, at most 2.5 s. Else it is unobserved.
// * Where utilization reads 0 for a minute although the board draws power that only work explains, the counter is
//   broken: from then on such seconds are unobserved (invalid_counter). An audit also takes back the minute before. A
//   counter cannot, because what was exposed must never step back.
class SecondMeter {
 public:
  explicit SecondMeter(const Thresholds& thresholds);
  // The cells point into the meter.
  SecondMeter(const SecondMeter&) = delete;
  SecondMeter& operator=(const SecondMeter&) = delete;

  // Takes the next sample. `utc_ns` is its stamp in UTC. Samples of closed seconds are dropped and counted.
  void Feed(const Sample& sample, std::int64_t utc_ns);
  // What its PCIe link moves in one direction, bytes a second; 0: unknown.
  void set_link_speed(std::int64_t bytes_per_second) { link_speed_ = bytes_per_second; }
  // Whether the readings of the last 10 s before `utc_ns` can tell a signal of a job, if it happens.
  [[nodiscard]] bool CanTell(JobSignal signal, std::int64_t utc_ns) const;
  // The GPU is lost (or back): a second without a reading is then driver_gone.
  void set_gone(bool gone) { gone_ = gone; }
  // What the second was. Seconds only go forward.
  GpuSecond Close(std::int64_t second);

  // The newest reading of a signal; absent: none within 10 s before `utc_ns`.
  [[nodiscard]] std::optional<std::int64_t> Latest(Signal signal, std::int64_t utc_ns) const;
  [[nodiscard]] std::int64_t late_samples() const { return late_samples_; }
  // The stamp of the newest sample that had a value; absent: none yet.
  [[nodiscard]] std::optional<std::int64_t> newest_ns() const { return newest_value_ns_; }

 private:
  void EndOpen();
  [[nodiscard]] Cell CellOf(std::int64_t second);
  void HoldLast(Cell& cell) const;
  void WatchBrokenCounter(Cell& cell);
  void CreditSpin(const DeviceTotals& rise, GpuSecond& out);
  void CreditSlowing(const Cell& cell, const DeviceTotals& rise, GpuSecond& out);
  void TakeEnergy(std::int64_t millijoules);
  [[nodiscard]] std::optional<std::int64_t> IdlePower() const;

  Thresholds thresholds_;  // without an idle power: SpinWindow then keeps whole watts, which CreditSpin judges
  std::optional<std::int64_t> idle_power_;  // as the user gave it
  Cadence cadence_;
  DenseSecond open_;
  LastReadings last_;
  CellAccumulator cells_;
  std::deque<Cell> ready_;           // seconds that ended and are not closed yet
  std::optional<Unobserved> said_;   // why the last sample had no counter
  std::int64_t closed_ = INT64_MIN;  // the newest closed second
  std::int64_t last_counter_ns_ = INT64_MIN;
  std::int64_t counter_interval_ns_ = 0;
  std::int64_t last_counter_ = 0;
  std::optional<std::int64_t> newest_value_ns_;
  std::int64_t late_samples_ = 0;
  bool gone_ = false;
  std::int64_t suspect_seconds_ = 0;
  WattHistogram idle_watts_;  // of seconds deep in a stretch of 0 %
  std::optional<std::int64_t> energy_;
  std::int64_t energy_rise_ = 0;  // since the last Close
  std::int64_t link_speed_ = 0;
  // Slowing of the seconds for which spin-wait is not settled yet.
  struct Slowing {
    std::int64_t slowed_ms = 0;
    std::int64_t lost_ms = 0;
  };
  std::deque<Slowing> slowing_;
};

}  // namespace idleburn
