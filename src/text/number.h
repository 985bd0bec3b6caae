#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"
#include "base/time.h"

namespace idleburn {

// How reading a scaled decimal ended.
enum class NumberFault : std::uint8_t { kNone, kNotANumber, kNotFinite, kTooLarge };

struct ScaledNumber {
  std::int64_t value = 0;
  NumberFault fault = NumberFault::kNone;
};

// Decimal text to an integer count of 10^-decimals, rounded half away from zero, without binary floating point:
// ("12.5", 3) -> 12500. Accepts a sign, exponents ("2.0780679168e+10") and the words NaN and Inf (kNotFinite).
ScaledNumber ParseScaled(std::string_view text, int decimals);

// A plain non-negative or negative integer, whole text; nothing else.
std::optional<std::int64_t> ParseInteger(std::string_view text);
// "0x44" or decimal.
std::optional<std::uint64_t> ParseMask(std::string_view text);

std::string_view Trim(std::string_view text);
bool EqualsIgnoreCase(std::string_view a, std::string_view b);

// "35.2E-7" as "0.00000352", as billing exports write small prices; anything else as it is, with an exponent beyond 40
// too, so that whoever parses it says what is wrong.
std::string PlainDecimal(std::string_view text);

// "256MiB", "1.5GB", "4096": a positive number of bytes, by powers of 1024 (KiB, MiB, GiB, TiB) or 1000 (kB, MB, GB,
// TB).
Result<std::int64_t> ParseByteSize(std::string_view text);

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

// ".35" or "35%" to 0.35; absent for what is neither. Whether it may be negative or above 1, the caller knows.
std::optional<double> ParseShare(std::string_view text);

// 0.348 as "34.8 %", and never "-0.0 %".
std::string PercentText(double share);

}  // namespace idleburn
