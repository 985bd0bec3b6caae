#include "text/figures.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>

#include "base/int128.h"

namespace idleburn {
namespace {

// A unit of time, and how many of the next smaller one make it up.
struct TimeUnit {
  const char* name;
  std::int64_t nanos;
};
constexpr std::array<TimeUnit, 4> kTimeUnits = {
    {{"d", 24 * kNanosPerHour}, {"h", kNanosPerHour}, {"min", 60 * kNanosPerSecond}, {"s", kNanosPerSecond}}};

// Digits after the point that leave three significant ones. 0.000123 needs six.
int DecimalsFor(double value) {
  const double size = std::fabs(value);
  if (size == 0) return 0;
  int decimals = 2 - static_cast<int>(std::floor(std::log10(size)));
  // 9.996 is a number of one digit before the point, but prints as 10.0.
  if (decimals > 0 && size * std::pow(10, decimals) >= 999.5) --decimals;
  return std::clamp(decimals, 0, 12);
}

// An amount with the sign or the code of its currency.
std::string InCurrency(const std::string& text, std::string_view currency) {
  if (currency != "USD") return text + " " + std::string(currency);
  return text.front() == '-' ? "-$" + text.substr(1) : "$" + text;
}

// The largest of `units` in which the value is 1 or more as printed, in steps of `step`.
template <std::size_t kCount>
std::string InUnits(double value, double step, const std::array<const char*, kCount>& units) {
  std::size_t unit = 0;
  for (; std::fabs(value) >= step * 0.9995 && unit + 1 < kCount; ++unit) value /= step;
  return ThreeDigits(value) + " " + units[unit];
}

// Whole from 100 % on, and 100.0 itself with a decimal.
std::string PercentNumber(double share) {
  const double percent = std::fabs(share) < 5e-4 ? 0 : 100 * share;
  return std::fabs(percent) >= 100.05 ? ThreeDigits(percent) : fmt::format("{:.1f}", percent);
}

}  // namespace

std::string Grouped(std::string number) {
  const std::size_t first = number.front() == '-' ? 1 : 0;
  for (std::size_t at = std::min(number.find('.'), number.size()); at > first + 3; at -= 3) number.insert(at - 3, ",");
  return number;
}

std::string ThreeDigits(double value) {
  std::string text = fmt::format("{:.{}f}", value, DecimalsFor(value));
  if (text.find('.') != std::string::npos) {
    text.erase(text.find_last_not_of('0') + 1);
    if (text.back() == '.') text.pop_back();
  }
  return text == "-0" ? "0" : Grouped(std::move(text));
}

std::string SignedDigits(double value) {
  const std::string text = ThreeDigits(value);
  return text == "0" || text.front() == '-' ? text : "+" + text;
}

std::string DigitsOrUnknown(const std::optional<double>& value) { return value ? ThreeDigits(*value) : "unknown"; }

std::string GpuHoursForPeople(double hours) {
  const std::string text = ThreeDigits(hours);
  return text + (text == "1" ? " GPU-hour" : " GPU-hours");
}

// 0.25 h is not 0.3 h, and 9,216.0 h is not 9,216.00 h.
int HourDecimals(std::int64_t ns) {
  const double hours = static_cast<double>(ns) / static_cast<double>(kNanosPerHour);
  return hours == 0 ? 1 : std::clamp(DecimalsFor(hours), 1, 9);
}

// FormatMoney rounds half to even in integers, so hours pass through it as money does: a nano-hour is 3,600 ns.
std::string HoursOfColumn(std::int64_t ns, int decimals) {
  constexpr std::int64_t kNanosInNanoHour = 3600;
  const Money nano_hours = Money::Nano(static_cast<std::int64_t>(DivHalfEven(ns, kNanosInNanoHour)));
  return Grouped(FormatMoney(nano_hours, ns == 0 ? std::min(decimals, 2) : decimals));
}

std::int64_t HourUnit(int decimals) {
  std::int64_t unit = kNanosPerHour;
  for (int i = 0; i < decimals; ++i) unit /= 10;
  return unit;
}

std::string DurationForPeople(Nanos span) {
  const std::int64_t ns = span.count();
  if (ns < 0) return "-" + DurationForPeople(Nanos(-ns));
  if (ns < kNanosPerSecond) return ThreeDigits(static_cast<double>(ns) / 1e6) + " ms";
  // Below a minute a second has parts; 59.96 s would print as 60 s.
  if (ns < 59'950'000'000) return ThreeDigits(static_cast<double>(ns) / 1e9) + " s";
  for (std::size_t i = 0; i + 1 < kTimeUnits.size(); ++i) {
    const std::int64_t small = kTimeUnits[i + 1].nanos;
    const std::int64_t rounded = (ns + small / 2) / small;  // in the smaller unit
    const std::int64_t per_large = kTimeUnits[i].nanos / small;
    if (rounded < per_large) continue;
    const std::int64_t rest = rounded % per_large;
    std::string text = fmt::format("{} {}", rounded / per_large, kTimeUnits[i].name);
    return rest == 0 ? text : text + fmt::format(" {} {}", rest, kTimeUnits[i + 1].name);
  }
  return ThreeDigits(static_cast<double>(ns) / 1e9) + " s";
}

std::string SecondsForPeople(double seconds) {
  constexpr double kSecondsInDay = 86400;
  if (!(std::fabs(seconds) < 9e9)) return ThreeDigits(seconds / kSecondsInDay) + " d";
  return DurationForPeople(Nanos(std::llround(seconds * 1e9)));
}

std::string BinaryBytes(double bytes) { return InUnits<5>(bytes, 1024, {"bytes", "KiB", "MiB", "GiB", "TiB"}); }

std::string DecimalBytes(double bytes) { return InUnits<5>(bytes, 1000, {"bytes", "kB", "MB", "GB", "TB"}); }

std::string PercentText(double share) { return PercentNumber(share) + " %"; }

std::string StatedPercent(double share) { return ThreeDigits(100 * share) + " %"; }

std::string SignedPercent(double share) {
  const std::string text = PercentText(share);
  return text.front() == '-' || text == "0.0 %" ? text : "+" + text;
}

std::string PercentInterval(double low, double high) {
  const auto whole = [](double share) { return std::fabs(100 * share - std::round(100 * share)) < 0.05; };
  const auto end = [&](double share) {
    const std::string text = whole(low) && whole(high) ? ThreeDigits(std::round(100 * share)) : PercentNumber(share);
    return text == "0.0" ? "0" : text;
  };
  return end(low) + " to " + end(high) + " %";
}

std::string Amount(Money m, std::string_view currency) {
  return InCurrency(Grouped(FormatMoney(m, MinorUnitDigits(currency))), currency);
}

// $1,413.33 has its cents; $0.00264 needs five decimals.
std::string UnitPrice(double amount, std::string_view currency) {
  const int cents = MinorUnitDigits(currency);
  std::string text = fmt::format("{:.{}f}", amount, std::max(cents, DecimalsFor(amount)));
  if (const std::size_t point = text.find('.'); point != std::string::npos) {
    // Zeros at the end go, but not those of the minor unit.
    const std::size_t least = point + 1 + static_cast<std::size_t>(cents);
    text.resize(std::max(least, text.find_last_not_of('0') + 1));
    if (text.back() == '.') text.pop_back();
  }
  return InCurrency(Grouped(std::move(text)), currency);
}

std::string AmountInterval(Money low, Money high, std::string_view currency) {
  return Amount(low, currency) + " to " + Amount(high, currency);
}

}  // namespace idleburn
