#pragma once

#include <sys/types.h>

#include <cstdint>
#include <cstdio>
#include <memory>
#include <vector>

#include "base/result.h"
#include "telemetry/counter_choice.h"
#include "telemetry/data_quality.h"
#include "telemetry/device.h"
#include "telemetry/sample.h"

namespace idleburn {

// Puts samples into time order: for sources that group rows by metric or series, and for merging several inputs
// of one run. It is an external merge sort. Readings are kept in `memory_bytes` of memory; when they no longer
// fit, they spill sorted to an unlinked temporary file.
//
// Readings of one device at one time become one sample. Each signal comes only from its chosen counter, by the
// names that the device has when a reading is pushed. Board values of a MIG instance go to its board. A scrape
// repeats a reading for every owner: the largest is kept, because copies are equal and parts are smaller.
// Repeats count as shared_copies, and times at which they differ as differing_readings. A log may repeat a
// stamp that is coarser than its readings; each becomes a sample. Nothing is delivered for a time that one
// source calls stale.
class TimeSorter final : public SampleSink {
 public:
  // Both references outlive the sorter.
  TimeSorter(DeviceTable& devices, DataQuality& quality, std::size_t memory_bytes = std::size_t{16} << 20);
  ~TimeSorter() override;

  void OnSamples(std::span<const Sample> samples) override;
  // Delivers everything to `out` in order. Fails if the temporary file could not be written or read.
  Result<void> Deliver(SampleSink& out);

 private:
  // One value of one signal. Samples are taken apart, because sources by metric deliver one signal at a time.
  struct Reading {
    std::int64_t time;
    DeviceId device;
    std::uint8_t signal;
    std::uint8_t unavailable;  // 0, or 1 + the reason
    CounterChoice::Ordinal counter;
    std::int64_t value;
  };
  // A sorted part of the readings in the temporary file.
  struct Run {
    off_t offset;
    std::size_t count;
  };
  // Reads one sorted run back.
  class Cursor;
  static bool Before(const Reading& a, const Reading& b);
  void Spill();
  void SortBuffer();

  DeviceTable& devices_;
  DataQuality& quality_;
  CounterChoice counters_;
  std::size_t capacity_;
  std::vector<Reading> buffer_;
  std::vector<Run> runs_;
  std::FILE* file_ = nullptr;
  bool failed_ = false;
};

}  // namespace idleburn
