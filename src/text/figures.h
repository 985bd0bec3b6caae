#pragma once

#include <string>

#include "base/time.h"

namespace idleburn {

// Figures for people. A reader compares and repeats them, so they have three significant digits, thousands in groups,
// and a unit that fits their size. Exact values are in JSON and CSV.

// Three significant digits, without an exponent: 1234.5 gives "1,234", 12.345 gives "12.3", 0.000123 gives "0.000123".
// A number of 100 or more keeps all digits before the point.
std::string ThreeDigits(double value);

// GPU-hours of a sentence: "0.317 GPU-hours", "1 GPU-hour", "12,345 GPU-hours".
std::string GpuHoursForPeople(double hours);

// A time span in its two largest units: "2 h 46 min", "3 d 4 h", "15 min", "5.25 s", "12 ms". The smaller unit is left
// out if it rounds to 0.
std::string DurationForPeople(Nanos span);

// An interval of shares, 0 to 1, with one unit for both ends: "20 to 35 %".
std::string PercentInterval(double low, double high);

}  // namespace idleburn
