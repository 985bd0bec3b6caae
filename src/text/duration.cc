#include "text/duration.h"

#include <fmt/format.h>

#include <array>

#include "text/number.h"

namespace idleburn {

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

std::string SecondsText(Nanos span) { return fmt::format("{:.1f} s", InSeconds(span)); }

}  // namespace idleburn
