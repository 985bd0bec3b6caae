#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "import/importer.h"
#include "telemetry/data_quality.h"
#include "telemetry/sample.h"
#include "telemetry/signal.h"

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

// What the text of one value came to: a value, or why there is none and which row of the data quality counts it.
struct Quantity {
  std::optional<std::int64_t> value;
  Unobserved why = Unobserved::kSentinel;
  QualityId issue = QualityId::kBadRow;
};

// The reason behind a spelling of "there is no value" ("[N/A]", "ERR!", "-", ...), in whichever format; absent if
// `text` is none. Square brackets and case do not matter, and anything else in square brackets is such a spelling too.
std::optional<Unobserved> WhyUnavailable(std::string_view text);
// A name as it stands; empty where the text says that there is none, as of a GPU that fell off the bus.
inline std::string_view NameIn(std::string_view text) { return WhyUnavailable(text) ? std::string_view() : text; }

// A unit as tools print it: one of `text` is numerator / denominator of the integer unit.
struct UnitScale {
  std::string_view text;
  Unit unit;
  std::int64_t numerator;
  std::int64_t denominator;
};
// Null if that is no unit of such values. Nvidia's KB/s and MB/s are decimal, its MB and MiB binary.
const UnitScale* FindUnitScale(std::string_view text, Unit unit);

// The characters of the number that `text` starts with, be it a word such as "NaN"; what follows is its unit.
std::size_t NumberLength(std::string_view text);

// "142.33 W" -> 142330 of Unit::kMilliwatt: text with or without a unit to the integer unit of a signal, rounded half
// to even. `plain` is the unit of a bare number: "%", "W", "MHz", "MiB", "B", "C", "J", "KB/s", "MB/s" or "" for counts
// and masks. A value outside the possible range of its unit
// has none: up to half a percent of the range beyond 0..100 % counts as the limit.
Quantity ReadQuantity(std::string_view text, Unit unit, std::string_view plain);

// Puts what `text` says into the sample, or counts why it says nothing. True if it holds a value.
bool PutQuantity(Signal signal, std::string_view text, std::string_view plain, Sample* sample, DataQuality& quality,
                 Place place);

}  // namespace idleburn
