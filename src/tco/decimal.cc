#include "tco/decimal.h"

#include <fmt/format.h>

#include "base/money.h"

namespace idleburn {

Result<Fraction> ParseDecimal(std::string_view text) {
  const std::string shown = "'" + std::string(text.substr(0, 40)) + "'";
  if (!text.empty() && text.front() == '-') return FailUsage(shown + " is negative; give what it costs as it is");
  constexpr int kMostDigits = 24;
  const bool percent = !text.empty() && text.back() == '%';
  std::string_view rest = percent ? text.substr(0, text.size() - 1) : text;
  while (percent && !rest.empty() && rest.back() == ' ') rest.remove_suffix(1);
  Int128 top = 0;
  Int128 bottom = percent ? 100 : 1;
  int digits = 0;
  bool point = false;
  for (const char c : rest) {
    if (c == '.' && !point) {
      point = true;
      continue;
    }
    if (c < '0' || c > '9' || ++digits > kMostDigits) {
      return FailUsage(shown + " is no number; write it without a unit, the key names that: 2.50, or 35%");
    }
    top = top * 10 + (c - '0');
    if (point) bottom *= 10;
  }
  if (digits == 0) return FailUsage(shown + " is no number; write 2.50, or 35%");
  return Fraction::Of(top, bottom);
}

std::string DecimalText(const Fraction& number) {
  constexpr std::int64_t kBillion = 1'000'000'000;
  if (number.too_large) return "more than can be kept";
  const std::optional<Money> part = Fraction{number.top % number.bottom, number.bottom}.AsMoney();
  if (!part) return fmt::format("{}", number.AsDouble());  // thirds of thirds of thirds, and so on
  const Int128 carried = part->nano() / kBillion;
  const std::string digits = FormatExact(Money::Nano(part->nano() % kBillion), 0);
  return fmt::format("{}{}", number.top / number.bottom + carried, digits.substr(1));
}

}  // namespace idleburn
