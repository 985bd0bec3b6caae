#pragma once

#include <optional>

#include "base/time.h"

namespace idleburn {

// Hours by which an hourly amount is projected (docs/money.md, "Months and years").
constexpr int kUsualMonthHours = 24 * 30;
constexpr int kMostMonthHours = 24 * 31;
constexpr int kHoursPerYear = 24 * 365;

// A price is used beyond this age, but flagged, wherever it comes from.
inline constexpr std::int64_t kStaleAfterDays = 90;

// Of a price as it was at `as_of`; one without a date is not called old.
constexpr bool IsStale(std::optional<Instant> as_of, Instant now) {
  return as_of && now - *as_of > Nanos(kStaleAfterDays * 24 * kNanosPerHour);
}

}  // namespace idleburn
