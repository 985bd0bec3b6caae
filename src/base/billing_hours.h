#pragma once

namespace idleburn {

// Hours by which an hourly amount is projected (docs/money.md, "Months and years").
constexpr int kUsualMonthHours = 24 * 30;
constexpr int kMostMonthHours = 24 * 31;
constexpr int kHoursPerYear = 24 * 365;

}  // namespace idleburn
