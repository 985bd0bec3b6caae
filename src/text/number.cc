#include "text/number.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <charconv>
#include <cmath>
#include <cstddef>
#include <cstdlib>
#include <string>

#include "base/int128.h"

namespace idleburn {

namespace {

// A mantissa below this limit times ten still fits 128 bits.
constexpr Int128 kMantissaLimit = static_cast<Int128>(INT64_MAX) * 1'000'000;

// The spellings of NaN and infinity that exporters and C libraries print.
bool IsNotFinite(std::string_view text) {
  for (const std::string_view word :
       {"nan", "inf", "+inf", "-inf", "infinity", "-infinity", "+infinity", "-nan", "+nan"}) {
    if (EqualsIgnoreCase(text, word)) return true;
  }
  return false;
}

// Reads what follows the 'e': a sign and digits. The result is capped at 10^9, where every number is too large or 0.
std::optional<int> ParseExponent(std::string_view text) {
  constexpr int kLimit = 1'000'000'000;
  const bool negative = !text.empty() && text.front() == '-';
  if (!text.empty() && (text.front() == '-' || text.front() == '+')) text.remove_prefix(1);
  if (text.empty()) return std::nullopt;
  int value = 0;
  for (const char c : text) {
    if (c < '0' || c > '9') return std::nullopt;
    value = value < kLimit / 10 ? value * 10 + (c - '0') : kLimit;
  }
  return negative ? -value : value;
}

}  // namespace

bool EqualsIgnoreCase(std::string_view a, std::string_view b) {
  const auto same = [](char x, char y) {
    return std::tolower(static_cast<unsigned char>(x)) == std::tolower(static_cast<unsigned char>(y));
  };
  return std::equal(a.begin(), a.end(), b.begin(), b.end(), same);
}

std::string_view Trim(std::string_view text) {
  const auto blank = [](char c) { return c == ' ' || c == '\t' || c == '\r'; };
  while (!text.empty() && blank(text.front())) text.remove_prefix(1);
  while (!text.empty() && blank(text.back())) text.remove_suffix(1);
  return text;
}

// Collects the digits as an integer and counts the power of ten beside it, then moves the point by multiplying or
// dividing by ten. Rounding looks at the last digit that is dropped, so it happens once.
ScaledNumber ParseScaled(std::string_view text, int decimals) {
  if (IsNotFinite(text)) return {0, NumberFault::kNotFinite};
  std::string_view rest = text;
  const bool negative = !rest.empty() && rest.front() == '-';
  if (!rest.empty() && (rest.front() == '-' || rest.front() == '+')) rest.remove_prefix(1);
  Int128 mantissa = 0;
  int scale = 0;  // value = mantissa x 10^scale
  bool point = false;
  bool digits = false;
  while (!rest.empty()) {
    const char c = rest.front();
    if (c == '.' && !point) {
      point = true;
    } else if (c >= '0' && c <= '9') {
      digits = true;
      if (mantissa < kMantissaLimit) {
        mantissa = mantissa * 10 + (c - '0');
        scale -= point ? 1 : 0;
      } else {
        scale += point ? 0 : 1;  // digits beyond 24 do not matter
      }
    } else {
      break;
    }
    rest.remove_prefix(1);
  }
  if (!digits) return {0, NumberFault::kNotANumber};
  if (!rest.empty() && (rest.front() == 'e' || rest.front() == 'E')) {
    const std::optional<int> exponent = ParseExponent(rest.substr(1));
    if (!exponent) return {0, NumberFault::kNotANumber};
    rest = {};
    scale += *exponent;
  }
  if (!rest.empty()) return {0, NumberFault::kNotANumber};
  scale += decimals;
  for (; scale > 0 && mantissa != 0; --scale) {
    mantissa *= 10;
    if (mantissa > kMantissaLimit) return {0, NumberFault::kTooLarge};
  }
  bool half_up = false;
  for (; scale < 0 && mantissa != 0; ++scale) {
    half_up = mantissa % 10 >= 5;
    mantissa /= 10;
    if (mantissa == 0 && scale < -1) half_up = false;
  }
  mantissa += half_up ? 1 : 0;
  if (mantissa > INT64_MAX) return {0, NumberFault::kTooLarge};
  const auto value = static_cast<std::int64_t>(mantissa);
  return {negative ? -value : value, NumberFault::kNone};
}

std::optional<std::int64_t> ParseInteger(std::string_view text) {
  std::int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
}

std::optional<std::uint64_t> ParseMask(std::string_view text) {
  int base = 10;
  if (text.size() > 2 && text[0] == '0' && (text[1] == 'x' || text[1] == 'X')) {
    text.remove_prefix(2);
    base = 16;
  }
  std::uint64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value, base);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
}

// Moves the point through the digits, as text, so that no digit changes.
std::string PlainDecimal(std::string_view text) {
  constexpr int kMostExponent = 40;
  const std::size_t e = text.find_first_of("eE");
  if (e == std::string_view::npos || e + 1 == text.size()) return std::string(text);
  std::string_view power = text.substr(e + 1);
  if (power.starts_with('+') && !power.starts_with("+-")) power.remove_prefix(1);
  int exponent = 0;
  const auto [end, error] = std::from_chars(power.data(), power.data() + power.size(), exponent);
  std::string_view mantissa = text.substr(0, e);
  const bool negative = mantissa.starts_with('-');
  if (negative) mantissa.remove_prefix(1);
  const std::size_t point = mantissa.find('.');
  std::string digits(mantissa.substr(0, point));
  const auto whole = static_cast<std::ptrdiff_t>(digits.size());
  if (point != std::string_view::npos) digits += mantissa.substr(point + 1);
  if (error != std::errc() || end != power.data() + power.size() || std::abs(exponent) > kMostExponent ||
      digits.empty() || digits.find_first_not_of("0123456789") != std::string::npos) {
    return std::string(text);
  }
  std::ptrdiff_t before = whole + exponent;  // digits before the point
  if (before < 1) {
    digits.insert(0, static_cast<std::size_t>(1 - before), '0');
    before = 1;
  }
  const auto places = static_cast<std::size_t>(before);
  if (digits.size() < places) digits.append(places - digits.size(), '0');
  if (digits.size() > places) digits.insert(places, ".");
  return (negative ? "-" : "") + digits;
}

Result<std::int64_t> ParseByteSize(std::string_view text) {
  struct SizeUnit {
    std::string_view suffix;
    std::int64_t bytes;
  };
  constexpr std::int64_t kKibi = 1024;
  constexpr std::int64_t kKilo = 1000;
  // The first suffix that matches wins, so "KiB" must come before "B".
  constexpr auto kUnits = std::to_array<SizeUnit>({{"KiB", kKibi},
                                                   {"MiB", kKibi * kKibi},
                                                   {"GiB", kKibi * kKibi * kKibi},
                                                   {"TiB", kKibi * kKibi * kKibi * kKibi},
                                                   {"kB", kKilo},
                                                   {"MB", kKilo * kKilo},
                                                   {"GB", kKilo * kKilo * kKilo},
                                                   {"TB", kKilo * kKilo * kKilo * kKilo},
                                                   {"B", 1},
                                                   {"", 1}});
  constexpr int kDecimals = 3;
  for (const SizeUnit& unit : kUnits) {
    if (text.size() <= unit.suffix.size() || text.substr(text.size() - unit.suffix.size()) != unit.suffix) continue;
    const ScaledNumber n = ParseScaled(Trim(text.substr(0, text.size() - unit.suffix.size())), kDecimals);
    std::int64_t thousandths = 0;
    if (n.fault != NumberFault::kNone || n.value <= 0) break;
    if (__builtin_mul_overflow(n.value, unit.bytes, &thousandths) || thousandths < kKilo) break;
    return thousandths / kKilo;
  }
  return FailUsage("'" + std::string(text.substr(0, 40)) + "' is not a number of bytes such as 256MiB or 4GB");
}

Result<Nanos> ParseDuration(std::string_view text) {
  struct UnitOfTime {
    std::string_view suffix;
    int decimals;  // of the number, so that the smallest step is a nanosecond
    std::int64_t factor;
  };
  constexpr auto kUnits = std::to_array<UnitOfTime>(
      {{"ns", 0, 1}, {"us", 3, 1}, {"ms", 6, 1}, {"s", 9, 1}, {"m", 9, 60}, {"h", 9, 3600}, {"d", 9, 86400}});
  for (const UnitOfTime& unit : kUnits) {
    if (text.size() <= unit.suffix.size() || text.substr(text.size() - unit.suffix.size()) != unit.suffix) continue;
    const ScaledNumber n = ParseScaled(text.substr(0, text.size() - unit.suffix.size()), unit.decimals);
    std::int64_t ns = 0;
    if (n.fault != NumberFault::kNone || n.value <= 0) continue;
    if (__builtin_mul_overflow(n.value, unit.factor, &ns)) break;
    return Nanos(ns);
  }
  return FailUsage("'" + std::string(text.substr(0, 40)) + "' is not a span of time such as 100ms, 5s or 48h");
}

std::optional<double> ParseShare(std::string_view text) {
  constexpr int kDecimals = 12;
  constexpr double kScale = 1e12;
  text = Trim(text);
  const bool percent = !text.empty() && text.back() == '%';
  if (percent) text = Trim(text.substr(0, text.size() - 1));
  const ScaledNumber number = ParseScaled(text, kDecimals);
  if (number.fault != NumberFault::kNone) return std::nullopt;
  return static_cast<double>(number.value) / (percent ? 100 * kScale : kScale);
}

}  // namespace idleburn
