#include "text/plain_decimal.h"

#include <charconv>
#include <cstddef>
#include <cstdlib>

namespace idleburn {

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

}  // namespace idleburn
