#pragma once

#include <array>
#include <cstdint>
#include <span>

#include "classify/cadence.h"
#include "classify/thresholds.h"
#include "classify/totals.h"

namespace idleburn {

// Counts published readings of the busy counter. A polled gauge repeats them, so rows are not readings.
//
// Whether a row is a new reading and which band it lies in changes from row to row without a pattern. The processor
// would guess a branch wrong every other time. So what a row does is looked up in a table (kTickSteps).

// The extreme at which the last reading at one was.
enum TickExtreme : std::uint8_t { kNoExtreme, kLowExtreme, kHighExtreme };

// What a row does to the count of readings: which extreme is then the last, and what it adds. All it adds are parts of
// one number: one to the readings of its band, if it is a reading, and one to the alternations, if it is at the other
// extreme than the last.
struct TickStep {
  // A part has so many bits, and counts no further than that.
  static constexpr std::size_t kBits = 12;
  static constexpr std::size_t kMost = (1 << kBits) - 1;
  // The part behind those of the bands.
  static constexpr std::size_t kAlternations = kPhaseCount;

  std::uint64_t counts = 0;
  std::uint64_t extreme = kNoExtreme;

  // One part of sums of `counts`.
  static constexpr std::int64_t Part(std::uint64_t counts, std::size_t part) {
    return static_cast<std::int64_t>(counts >> kBits * part & kMost);
  }
};

// By the last extreme, by whether the row is a reading, and by its band.
using TickSteps = std::array<std::array<std::array<TickStep, kPhaseCount>, 2>, 3>;

constexpr TickSteps MakeTickSteps() {
  TickSteps steps{};
  for (const TickExtreme before : {kNoExtreme, kLowExtreme, kHighExtreme}) {
    for (std::size_t band = 0; band < kPhaseCount; ++band) {
      const TickExtreme now = band == 0 ? kLowExtreme : band + 1 == kPhaseCount ? kHighExtreme : kNoExtreme;
      const bool alternates = now != kNoExtreme && before != kNoExtreme && now != before;
      std::uint64_t counts = std::uint64_t{1} << TickStep::kBits * band;
      if (alternates) counts += std::uint64_t{1} << TickStep::kBits * TickStep::kAlternations;
      steps[before][0][band] = {0, before};
      steps[before][1][band] = {counts, now != kNoExtreme ? now : before};
    }
  }
  return steps;
}
inline constexpr TickSteps kTickSteps = MakeTickSteps();

// A reading is new when the value changed, or when W passed since the last new one.
//
// This also finds starvation in bursts: blocks of ten seconds in which readings alternate between both extremes.
class TickCounter {
 public:
  // State is anchored every minute, so that a stretch classified alone and one classified in a stream agree.
  static constexpr std::int64_t kAnchor = 60 * kNanosPerSecond;

  TickCounter(const Thresholds& thresholds, const Cadence& cadence);

  // Takes the next row, in order of time.
  void OnReading(std::int64_t time, std::int64_t value, DeviceTotals& totals) {
    if (time >= anchor_end_) Anchor(time);
    const bool fresh = value != last_value_ || time - last_tick_ >= repeat_after_;
    before_ = {last_value_, last_tick_, extreme_};
    last_row_ = time;
    last_value_ = value;
    last_tick_ = fresh ? time : last_tick_;
    const std::size_t band = BandOf(value);
    const TickStep& step = kTickSteps[extreme_][fresh ? 1 : 0][band];
    const std::int64_t reading = fresh ? InTickUnits(value) : 0;
    totals.ticks[band] += fresh ? 1 : 0;
    totals.tick_sum += reading;
    totals.tick_squares += reading * reading;
    block_ticks_[band] += fresh ? 1 : 0;
    alternations_ += TickStep::Part(step.counts, TickStep::kAlternations);
    extreme_ = step.extreme;
  }
  // The same for rows of columns of times and values, each row later than the one before; `shift` is added to times.
  // Takes the rows from `from` on, up to the end of the current block or up to `end`, whichever is later, but no row
  // beyond an anchor. No row of a block depends on CloseBlocks. Returns where the rows end.
  struct Readings {
    const Instant* times;
    const std::int64_t* values;
    std::span<const std::uint32_t> rows;
    std::int64_t shift;
  };
  std::size_t OnReadings(const Readings& readings, std::size_t from, std::int64_t end, DeviceTotals& totals);
  // Takes `value` for the last reading, as if that one had not been.
  void Amend(std::int64_t value, DeviceTotals& totals);
  [[nodiscard]] std::int64_t last_value() const { return last_value_; }
  // The time of the last reading; far in the past before the first.
  [[nodiscard]] std::int64_t last_time() const { return last_row_; }
  // Observed time of the current block, and utilisation x ns over it. It is called before OnReading of a later block.
  void OnObserved(std::int64_t ns, std::int64_t area) {
    block_observed_ns_ += ns;
    block_area_ += area;
  }
  // Closes the block that ends at or before `time`.
  void CloseBlocks(std::int64_t time, DeviceTotals& totals) {
    if (time >= block_end_) CloseBlock(time, totals);
  }

 private:
  void Anchor(std::int64_t time) {
    last_tick_ = last_row_;
    anchor_end_ = time - time % kAnchor + kAnchor;
  }
  // By the bands of Phase.
  [[nodiscard]] std::size_t BandOf(std::int64_t value) const {
    const Thresholds& t = *thresholds_;
    return static_cast<std::size_t>(value >= t.idle_below) + static_cast<std::size_t>(value >= t.productive_from) +
           static_cast<std::size_t>(value >= t.bound_from);
  }
  // `value` >= 0: unsigned numbers are divided in fewer steps.
  [[nodiscard]] static std::int64_t InTickUnits(std::int64_t value) {
    return static_cast<std::int64_t>(static_cast<std::uint64_t>(value) / kTickUnit);
  }
  void CloseBlock(std::int64_t time, DeviceTotals& totals);

  const Thresholds* thresholds_;
  // About W, the longest one if it is not known.
  std::int64_t repeat_after_;
  std::int64_t last_tick_ = INT64_MIN / 2;
  std::int64_t last_row_ = INT64_MIN / 2;
  std::int64_t last_value_ = -1;
  std::int64_t anchor_end_ = INT64_MIN;
  // What the last row found, so that Amend can take it back.
  struct Before {
    std::int64_t value = -1;
    std::int64_t tick = INT64_MIN / 2;
    std::uint64_t extreme = kNoExtreme;
  };
  Before before_;  // the last row

  std::int64_t block_end_ = INT64_MIN;
  std::int64_t block_observed_ns_ = 0;
  std::int64_t block_area_ = 0;
  std::array<std::int64_t, kPhaseCount> block_ticks_{};  // by band
  std::int64_t alternations_ = 0;
  // Of the last reading at one.
  std::uint64_t extreme_ = kNoExtreme;
};

}  // namespace idleburn
