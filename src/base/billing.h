#pragma once

#include <optional>

#include "base/time.h"

namespace idleburn {

// Constants of bills: hours in a month or year, and the age of a price. In one place, so that every page projects the
// same amount.

// Hours for projecting an hourly amount (docs/money.md, "Months and years"): a usual month of 30 days, the longest
// month of 31, and a year of 365 days.
constexpr int kUsualMonthHours = 24 * 30;
constexpr int kMostMonthHours = 24 * 31;
constexpr int kHoursPerYear = 24 * 365;

// A price beyond this age is still used, but flagged.
inline constexpr std::int64_t kStaleAfterDays = 90;

// Whether a price of the date `as_of` is stale. A price without a date is not.
constexpr bool IsStale(std::optional<Instant> as_of, Instant now) {
  return as_of && now - *as_of > Nanos(kStaleAfterDays * 24 * kNanosPerHour);
}

}  // namespace idleburn
