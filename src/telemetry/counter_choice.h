// Which of several counters of one signal is used. Sources overlap: a run may have utilization from nvidia-smi
// and from DCGM, with different periods and meanings.

#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "telemetry/data_quality.h"
#include "telemetry/device.h"
#include "telemetry/sample.h"

namespace idleburn {

// Rank of a counter ("<source>.<field>") in the order of preference; 0 is best. An unknown source ranks last.
std::size_t CounterRank(std::string_view counter);

// Whether two names mean one counter. Drivers have renamed some of them.
bool IsSameCounter(std::string_view a, std::string_view b);

// Whether the source marks the end of each reading by a next one, at least an unavailable one. Such a reading
// is a mean over an interval or a job, and must not be held beyond its end.
bool SaysWhenItEnds(std::string_view counter);

// Whether the source asked the driver for each row. An exporter instead collects at its own pace.
bool ReadsTheDriver(std::string_view counter);

// Whether each row of the source is a separate reading, so that several rows at one time are several readings.
// A scrape instead repeats one reading for every owner of the GPU, whole or in parts.
bool EachRowIsAReading(std::string_view counter);

// Chooses one counter for each signal of each device, for the whole run. Two counters of a signal have different
// meanings, so they are never mixed in one series. Readings of the other counters are counted and not used.
// TimeSorter asks it for every reading.
//
// Only counters that span at least nine tenths of the longest span qualify. Of these, the choice is the one with the
// best rank, then the one with more readings, then the first by name. Example: dcgm covers an hour and nvidia-smi 50
// minutes. Nvidia-smi ranks higher but spans only 83 %, so dcgm is chosen.
class CounterChoice {
 public:
  // Number of a counter within its device and signal.
  using Ordinal = std::uint16_t;

  // Notes that `counter` reported a signal of `device`. `valid` means that it had a value.
  Ordinal Note(DeviceId device, Signal signal, const std::string& counter, std::int64_t time, bool valid);
  // Chooses the counters. From here on `devices` names the chosen ones.
  void Settle(DeviceTable& devices, DataQuality& quality);
  // Whether a reading belongs to the chosen counter; true before Settle.
  [[nodiscard]] bool Keeps(DeviceId device, Signal signal, Ordinal counter) const {
    const Series& series = devices_[device][Index(signal)];
    return series.chosen == kAll || series.chosen == counter;
  }
  // Whether several readings at one time are separate, and not one that a scrape repeats.
  [[nodiscard]] bool IsLog(DeviceId device, Signal signal, Ordinal counter) const {
    return devices_[device][Index(signal)].counters[counter].log;
  }
  // Whether an unused reading is the first or the last of its counter. It still extends the device's time.
  [[nodiscard]] bool IsEdge(DeviceId device, Signal signal, Ordinal counter, std::int64_t time) const {
    const Counter& its = devices_[device][Index(signal)].counters[counter];
    return time == its.first || time == its.last;
  }

 private:
  static constexpr Ordinal kAll = UINT16_MAX;
  struct Counter {
    std::string name;
    std::int64_t first = INT64_MAX;
    std::int64_t last = INT64_MIN;
    std::int64_t readings = 0;
    bool log = false;  // EachRowIsAReading
    [[nodiscard]] std::int64_t Span() const { return readings == 0 ? -1 : last - first; }
  };
  // The counters of one signal of one device.
  struct Series {
    std::vector<Counter> counters;
    Ordinal chosen = kAll;
  };
  static Ordinal Choose(const std::vector<Counter>& counters);

  std::vector<std::array<Series, kSignalCount>> devices_;
};

}  // namespace idleburn
