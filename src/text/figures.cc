#include "text/figures.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>

#include "base/money.h"

namespace idleburn {
namespace {

// A unit of time, and how many of the next smaller one make it up.
struct TimeUnit {
  const char* name;
  std::int64_t nanos;
};
constexpr std::array<TimeUnit, 4> kTimeUnits = {{{"d", 24 * kNanosPerHour},
                                                 {"h", kNanosPerHour},
                                                 {"min", 60 * kNanosPerSecond},
                                                 {"s", kNanosPerSecond}}};

// Digits after the point that leave three significant ones. 0.000123 needs six.
int DecimalsFor(double value) {
  const double size = std::fabs(value);
  if (size == 0) return 0;
  int decimals = 2 - static_cast<int>(std::floor(std::log10(size)));
  // 9.996 is a number of one digit before the point, but prints as 10.0.
  if (decimals > 0 && size * std::pow(10, decimals) >= 999.5) --decimals;
  return std::clamp(decimals, 0, 12);
}

}  // namespace

std::string ThreeDigits(double value) {
  std::string text = fmt::format("{:.{}f}", value, DecimalsFor(value));
  if (text.find('.') != std::string::npos) {
    text.erase(text.find_last_not_of('0') + 1);
    if (text.back() == '.') text.pop_back();
  }
  const std::size_t end = std::min(text.find('.'), text.size());
  const std::size_t first = text.front() == '-' ? 1 : 0;
  for (std::size_t at = end; at > first + 3; at -= 3) text.insert(at - 3, ",");
  return text == "-0" ? "0" : text;
}

std::string GpuHoursForPeople(double hours) {
  const std::string text = ThreeDigits(hours);
  return text + (text == "1" ? " GPU-hour" : " GPU-hours");
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

std::string PercentInterval(double low, double high) {
  return ThreeDigits(100 * low) + " to " + ThreeDigits(100 * high) + " %";
}

}  // namespace idleburn
