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

// Puts samples into order of time: for sources that group by metric or by series, and for joining several
// inputs of one run on a common clock. An external merge sort: readings are kept in `memory_bytes` and spill,
// sorted, to an unlinked temporary file when they no longer fit. Readings of one device at one time become one
// sample. A scrape repeats a reading for every owner: the largest is kept (copies of a device's value are equal, parts
// of it are smaller) and counted as shared_copies, a time at which they differ as differing_readings. A log repeats a
// stamp that is coarser than its readings: each is delivered, in a sample of its own. None is, where one says that what
// the device tells is old. Board values of a MIG instance go to its board. A reading is of the counter
// that its device names for the signal when it is pushed; one counter of each signal is delivered.
class TimeSorter final : public SampleSink {
 public:
  TimeSorter(DeviceTable& devices, DataQuality& quality, std::size_t memory_bytes = std::size_t{16} << 20);
  ~TimeSorter() override;

  void OnSamples(std::span<const Sample> samples) override;
  // Delivers everything to `out` in order. Fails if the temporary file could not be written or read.
  Result<void> Deliver(SampleSink& out);

 private:
  struct Reading {
    std::int64_t time;
    DeviceId device;
    std::uint8_t signal;
    std::uint8_t unavailable;  // 0, or 1 + the reason
    CounterChoice::Ordinal counter;
    std::int64_t value;
  };
  struct Run {
    off_t offset;
    std::size_t count;
  };
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
