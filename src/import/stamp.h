#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "import/importer.h"

namespace idleburn {

// "Tue Sep  1 08:00:05 2026", as nvidia-smi and dcgmi print it; absent if the text is no such time.
std::optional<CivilTime> ParseCtime(std::string_view text);

// The instant of a local time. Stamps come in order, but for the rows of a sweep: one of the hour that the end of
// daylight saving repeats is of its second pass if in the first it would lie before the last one. Sets *last.
Instant ByOrder(const LocalMeaning& meaning, Instant* last);

// Turns the wall-clock stamps of one input into instants, in the user's zone or UTC. Says once an input that UTC was
// assumed and counts the stamps that daylight saving makes ambiguous.
class StampClock {
 public:
  // The references outlive the clock; `file` is the input's name for places.
  StampClock(const ImportOptions& options, DataQuality& quality, const std::string& file)
      : options_(options), quality_(quality), file_(file) {}

  // `zoned`: the stamp named its own zone and is UTC already. `line` is its place, 0 if unknown.
  Instant At(const CivilTime& stamp, bool zoned, std::int64_t line);

 private:
  const ImportOptions& options_;
  DataQuality& quality_;
  const std::string& file_;
  bool assumed_ = false;
  Instant last_;
};

// The time of a sweep, from 0 on, in a log that says no times: so many periods after --start, else the start of 1970.
Instant AssumedTime(const ImportOptions& options, std::int64_t sweep);

// Enters a device and counts a masked UUID once per device.
DeviceId EnterDevice(const DeviceKey& key, ImportTarget& out, Place place);

}  // namespace idleburn
