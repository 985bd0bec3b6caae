#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "telemetry/data_quality.h"
#include "telemetry/device_clock.h"
#include "telemetry/sample.h"

namespace idleburn {

// Makes time of the stamps of one input whose rows come as they were written, before inputs are sorted into each other:
// a wall clock that was set back would put what came after among what came before. As where an input is classified
// alone, a row that is older than the row of its device before by more than readings are held shows a step of the
// clock: from there on time goes on one period after that row, the interval between is unobserved, and durations do
// not change. Rows of one sweep have one clock, also those of a device that had no row when it was set back. Rows of a
// log that begins anew are dropped; those of a piece that lies in a gap before are let through, to be sorted there.
class StraightClock final : public SampleSink {
 public:
  // Both outlive the clock.
  StraightClock(SampleSink& next, DataQuality& quality) : next_(next), quality_(quality) {}

  void OnSamples(std::span<const Sample> samples) override;

  [[nodiscard]] std::int64_t rows() const { return rows_; }
  // Those that were older than the row of their device before.
  [[nodiscard]] std::int64_t rows_back() const { return rows_back_; }

 private:
  // A device.
  struct Track {
    std::optional<std::int64_t> newest;  // straightened
    DeviceClock clock;
    std::uint32_t counters = 0;  // what says how busy it is, in its last row that had any
    std::vector<std::int64_t> intervals;
    std::int64_t period = 0;  // their median
  };

  [[nodiscard]] bool Place(const Sample& sample, Track& track);
  static void NoteInterval(std::int64_t interval, Track& track);

  SampleSink& next_;
  DataQuality& quality_;
  std::vector<Track> tracks_;  // by device
  std::vector<Sample> batch_;  // straightened
  std::int64_t stamp_ = 0;     // of the row before, whatever its device
  std::int64_t shift_ = 0;     // and its shift
  std::int64_t rows_ = 0;
  std::int64_t rows_back_ = 0;
};

}  // namespace idleburn
