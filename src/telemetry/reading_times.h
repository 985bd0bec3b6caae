#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/time.h"
#include "telemetry/data_quality.h"
#include "telemetry/device.h"
#include "telemetry/sample.h"

// When readings were taken. Log files only have the stamps of a wall clock, which can be set back, and rows may
// be repeated or misplaced. This file finds the period of a source, the time that its readings cover, and a
// time line that never goes backwards.
namespace idleburn {
// The number of intervals that determine the period of a source, from its first ones.
inline constexpr std::size_t kIntervals = 101;

// The period of a source, from its positive intervals in time order; at least one.
//
// It is the median interval. If the intervals differ, up to four readers may scrape one GPU in turns. If their
// rounds are regular, the period is that of a round. Example: two scrapes of 15 s, 3 s apart, produce intervals
// of 3 and 12 s. The median would be either one, depending on which comes first. The sum of two intervals is
// always 15 s.
std::int64_t PeriodOf(const std::vector<std::int64_t>& intervals);

// The time that the readings of one series cover: from the first to the last, without the longest pauses. Memory is
// bounded for any number of readings in any order. audit/join_inputs.h finds with it which inputs tell of the same
// time.
class Coverage {
 public:
  // Adds a reading.
  void See(Instant time);
  // Call after the last reading: forgets intervals that are ordinary and not pauses.
  void Settle();

  [[nodiscard]] bool empty() const { return readings_ == 0; }
  // Mean interval between readings, outside pauses.
  [[nodiscard]] Nanos Step() const;
  // The time that both series cover. Both are settled.
  [[nodiscard]] static Nanos Overlap(const Coverage& a, const Coverage& b);

 private:
  struct Pause {
    std::int64_t from;
    std::int64_t to;
    [[nodiscard]] std::int64_t Length() const { return to - from; }
  };
  static bool Longer(const Pause& a, const Pause& b) { return a.Length() > b.Length(); }
  void Add(Pause pause);

  static constexpr std::size_t kMostPauses = 32;
  // A pause is at least this many times the mean interval.
  static constexpr std::int64_t kPauseSteps = 10;

  std::int64_t first_ = INT64_MAX;
  std::int64_t last_ = INT64_MIN;
  std::int64_t readings_ = 0;  // that extended the series
  std::vector<Pause> pauses_;  // a heap with the shortest first; unordered after Settle
};

// Turns the time stamps of one device into time. Its rows arrive in the order in which they were written. The time of
// a row is its stamp plus shift(). The shift changes where someone set the clock (docs/rows.md, "When rows are not
// in order").
class DeviceClock {
 public:
  enum class Row : std::uint8_t {
    kOn,         // the time is new
    kStep,       // new too, and the clock was set just before: shift() has changed
    kLate,       // slightly older than the newest row: out of order
    kAgain,      // a repeated row of a log that starts again from its first row
    kMisplaced,  // inside a gap between earlier rows: part of a misplaced piece
  };

  // The stamp and the signals of the first row.
  void Begin(std::int64_t stamp, std::uint32_t signals) {
    first_ = stamp;
    first_signals_ = signals;
  }
  // Places a row whose time differs from `newest`, the time of the newest row. A row that is older by more than
  // `hold` ns means that the clock stepped back; its time becomes one `period` after the newest row. If later
  // stamps continue from before the step, time does too.
  Row Place(std::int64_t stamp, std::uint32_t signals, std::int64_t newest, std::int64_t hold, std::int64_t period);

  [[nodiscard]] std::int64_t shift() const { return shift_; }
  // Takes over a shift that another device with the same clock has shown.
  void set_shift(std::int64_t shift) {
    shift_before_ = shift_;
    shift_ = shift;
  }

 private:
  // A gap between two rows that is longer than readings are held.
  struct Gap {
    std::int64_t from;
    std::int64_t to;
  };
  // Remembers a gap, in which rows of a misplaced piece may belong.
  void KeepGap(Gap gap);

  std::int64_t shift_ = 0;
  std::optional<std::int64_t> shift_before_;  // shift before the last step back
  std::int64_t first_ = 0;
  std::uint32_t first_signals_ = 0;
  bool again_ = false;
  std::vector<Gap> gaps_;  // the longest ones
};

// Turns the time stamps of one input into time, before inputs are merged by time. Without this step, a wall
// clock that was set back would mix later rows with earlier ones.
//
// The rows arrive in the order in which they were written. A row older than the device's previous row by more
// than the hold time means the clock stepped back. From there, time continues one period after the previous
// row. The interval between the two is unobserved, and durations do not change. All rows of one sweep share a
// clock, including devices that had no row at the step. Repeated rows are dropped. Rows of a misplaced piece
// are passed on, and sorting puts them in place.
class StraightClock final : public SampleSink {
 public:
  // Both references outlive the clock.
  StraightClock(SampleSink& next, DataQuality& quality) : next_(next), quality_(quality) {}

  void OnSamples(std::span<const Sample> samples) override;

  // Rows passed on.
  [[nodiscard]] std::int64_t rows() const { return rows_; }
  // Rows that were older than the previous row of their device.
  [[nodiscard]] std::int64_t rows_back() const { return rows_back_; }

 private:
  // What is known about one device.
  struct Track {
    std::optional<std::int64_t> newest;  // after straightening
    DeviceClock clock;
    // Busy counters in the last row that had any.
    std::uint32_t counters = 0;
    std::vector<std::int64_t> intervals;
    std::int64_t period = 0;  // median of the intervals
  };

  // Sets the device's clock by a row. False if the row is dropped.
  [[nodiscard]] bool Place(const Sample& sample, Track& track);
  static void NoteInterval(std::int64_t interval, Track& track);

  SampleSink& next_;
  DataQuality& quality_;
  std::vector<Track> tracks_;  // by device
  std::vector<Sample> batch_;  // after straightening
  std::int64_t stamp_ = 0;     // of the previous row of any device
  std::int64_t shift_ = 0;     // shift of the previous row
  std::int64_t rows_ = 0;
  std::int64_t rows_back_ = 0;
};

// A reading for people, with its unit: "85 %", "350 W", "20 GiB". `value` is in `unit`; it may be a mean.
std::string ReadingText(Unit unit, double value);

// The name of a device in a sentence: "GPU 3", "GPU 3 MIG 1g.10gb #7".
std::string ShortName(const Device& device);

// The name of a device in a table: "GPU 3" by index, else the start of its UUID, its bus id, its name, or "device 3".
// It is "n1 GPU 3" if the run has several hosts.
std::string DeviceLabel(const DeviceTable& devices, DeviceId device);

}  // namespace idleburn
