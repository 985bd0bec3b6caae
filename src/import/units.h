#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "telemetry/data_quality.h"
#include "telemetry/sample.h"

namespace idleburn {

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
