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

// Place of a counter ("<source>.<field>") in the order of preference, 0 first.
std::size_t CounterRank(std::string_view counter);

// Whether two names mean one counter: drivers renamed some.
bool IsSameCounter(std::string_view a, std::string_view b);

// Whether the source says of each reading when it ends, with a next one that is unavailable, if by nothing else: the
// mean of a job is no reading that may be held beyond it, nor one that ends before it.
bool SaysWhenItEnds(std::string_view counter);

// Whether the source asked the driver for each row, and not an exporter that collects at its own pace.
bool ReadsTheDriver(std::string_view counter);

// Whether each row of the source is a reading of its own, so that several at one time are several readings. A scrape
// instead repeats one reading for every owner of the GPU, whole or in parts.
bool EachRowIsAReading(std::string_view counter);

// Several counters of one signal never make one series, because each has its own meaning: of each device and signal one
// is chosen for the whole run, the readings of the others are left aside and counted. Of the counters whose readings
// span at least nine tenths of the longest span the one first in the order of preference is chosen; of equals that
// with more readings, then the first by name.
class CounterChoice {
 public:
  using Ordinal = std::uint16_t;  // of a counter among those of its device and signal

  // Notes what `counter` said of a signal of `device`; `valid`: it had a value.
  Ordinal Note(DeviceId device, Signal signal, const std::string& counter, std::int64_t time, bool valid);
  // Chooses. `devices` names the chosen counters from here on.
  void Settle(DeviceTable& devices, DataQuality& quality);
  // Whether a reading is of the chosen counter; true before Settle.
  [[nodiscard]] bool Keeps(DeviceId device, Signal signal, Ordinal counter) const {
    const Series& series = devices_[device][Index(signal)];
    return series.chosen == kAll || series.chosen == counter;
  }
  // Whether several readings at one time are several readings, and not one that a scrape repeats.
  [[nodiscard]] bool IsLog(DeviceId device, Signal signal, Ordinal counter) const {
    return devices_[device][Index(signal)].counters[counter].log;
  }
  // Whether a reading that is left aside is the first or the last of its counter, between which the run lasts.
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
  struct Series {
    std::vector<Counter> counters;
    Ordinal chosen = kAll;
  };
  static Ordinal Choose(const std::vector<Counter>& counters);

  std::vector<std::array<Series, kSignalCount>> devices_;
};

}  // namespace idleburn
