#include "text/number.h"

#include <algorithm>
#include <charconv>
#include <cctype>

#include "base/int128.h"

namespace idleburn {
namespace {

constexpr Int128 kMantissaLimit = static_cast<Int128>(INT64_MAX) * 1'000'000;

bool IsNotFinite(std::string_view text) {
  for (const std::string_view word :
       {"nan", "inf", "+inf", "-inf", "infinity", "-infinity", "+infinity", "-nan", "+nan"}) {
    if (EqualsIgnoreCase(text, word)) return true;
  }
  return false;
}

// What follows the 'e': a sign and digits. Cut at 10^9, far beyond where every number is too large or 0.
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

}  // namespace idleburn
