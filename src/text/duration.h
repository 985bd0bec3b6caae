#pragma once

#include <string>
#include <string_view>

#include "base/result.h"
#include "base/time.h"

namespace idleburn {

// "100ms", "5s", "2.5m", "48h", "30d": a positive span of time, exact to the nanosecond.
Result<Nanos> ParseDuration(std::string_view text);
// A span in seconds, for arithmetic that needs no more than the digits of a double.
inline double InSeconds(Nanos span) { return static_cast<double>(span.count()) / 1e9; }
// Nanoseconds in hours, likewise.
template <typename Count>
double InHours(Count nanos) {
  return static_cast<double>(nanos) / static_cast<double>(kNanosPerHour);
}
inline double InHours(Nanos span) { return InHours(span.count()); }
// "1.2 s", for people.
std::string SecondsText(Nanos span);

}  // namespace idleburn
