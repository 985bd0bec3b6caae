#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"
#include "base/time.h"

namespace idleburn {

// Numbers, sizes, durations and shares from text that people and exporters write. Parsing uses no binary
// floating point except for shares, because 0.1 has no exact binary form, and amounts of money must stay exact.

// Why a scaled decimal could not be read.
enum class NumberFault : std::uint8_t { kNone, kNotANumber, kNotFinite, kTooLarge };

// An integer count of 10^-decimals. `value` is 0 if there is a fault.
struct ScaledNumber {
  std::int64_t value = 0;
  NumberFault fault = NumberFault::kNone;
};

// Reads decimal text as an integer count of 10^-decimals: ("12.5", 3) gives 12500, and ("2e-3", 3) gives 2. The
// conversion rounds half away from zero and uses no binary floating point. It accepts a sign, exponents
// ("2.0780679168e+10") and the words NaN and Inf (kNotFinite). `decimals` may be negative: ("1830000000", -3) gives
// 1830000.
ScaledNumber ParseScaled(std::string_view text, int decimals);

// Reads a decimal integer with an optional minus sign. The whole text must be the number.
std::optional<std::int64_t> ParseInteger(std::string_view text);
// Reads a bit mask, hexadecimal ("0x44") or decimal ("68").
std::optional<std::uint64_t> ParseMask(std::string_view text);

// Removes blanks, tabs and carriage returns from both ends.
std::string_view Trim(std::string_view text);
// Compares two texts without regard to the case of their letters.
bool EqualsIgnoreCase(std::string_view a, std::string_view b);

// Writes a number without its exponent: "35.2E-7" becomes "0.00000352". Billing exports write small prices with one.
// Any other text is returned unchanged, so that the parser of the result reports the error. Exponents beyond 40 are
// unchanged too.
std::string PlainDecimal(std::string_view text);

// Reads a positive number of bytes: "256MiB", "1.5GB", "4096". KiB to TiB are powers of 1024, kB to TB powers of
// 1000. A fraction of a byte is dropped.
Result<std::int64_t> ParseByteSize(std::string_view text);

// Reads a positive duration, exact to the nanosecond: "100ms", "5s", "2.5m", "48h", "30d". A number without a unit is
// an error, since seconds and minutes are equally likely.
Result<Nanos> ParseDuration(std::string_view text);
// A duration in seconds. Use it only where the precision of a double suffices.
inline double InSeconds(Nanos span) { return static_cast<double>(span.count()) / 1e9; }
// Nanoseconds in hours. The same limit of precision applies.
template <typename Count>
double InHours(Count nanos) {
  return static_cast<double>(nanos) / static_cast<double>(kNanosPerHour);
}
inline double InHours(Nanos span) { return InHours(span.count()); }

// Reads a share: ".35" and "35%" both give 0.35. Absent for any other text. The caller checks the range, because some
// shares may be negative or above 1.
std::optional<double> ParseShare(std::string_view text);

}  // namespace idleburn
