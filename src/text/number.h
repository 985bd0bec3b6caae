#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

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

}  // namespace idleburn
