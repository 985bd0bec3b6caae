#pragma once

#include <compare>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/int128.h"
#include "base/result.h"
#include "base/time.h"

namespace idleburn {
// A hundredth of a unit, in nano-units.
inline constexpr std::int64_t kCent = 10'000'000;  // nano-units in a hundredth

// An exact amount of one currency: a count of billionths of its unit (1 USD = 10^9). Covers +-9.2 billion. The
// currency is not part of it; callers keep it beside the amounts. Arithmetic that would overflow is an error, never a
// wrap, so there are functions below instead of operators.
class Money {
 public:
  constexpr Money() = default;
  static constexpr Money Nano(std::int64_t n) { return Money(n); }
  static constexpr Money Cents(std::int64_t c) { return Money(c * kCent); }
  // Reads decimal text ("2.49", "-0.5") directly, never through binary floating point. More than nine decimals after
  // trimming zeros is an error.
  static Result<Money> Parse(std::string_view text);
  // As Parse, but rounds half to even at the ninth decimal, and sets *rounded if that changed the amount. For price
  // lists and billing exports with more decimals.
  static Result<Money> ParseRounding(std::string_view text, bool* rounded);

  [[nodiscard]] constexpr std::int64_t nano() const { return nano_; }
  constexpr auto operator<=>(const Money&) const = default;

 private:
  explicit constexpr Money(std::int64_t n) : nano_(n) {}
  std::int64_t nano_ = 0;
};

// Fails if the sum is more than Money holds.
Result<Money> Add(Money a, Money b);
// a x numerator / denominator, rounded half to even once. denominator > 0.
Result<Money> Scale(Money a, Int128 numerator, Int128 denominator);
// The price of GPU time: rate per GPU-hour x GPU-nanoseconds, rounded once. Sum the nanoseconds first and price once
// per rate, because rounding every stretch would add up.
Result<Money> Price(Money per_gpu_hour, std::int64_t gpu_nanos);
// The one conversion of an estimate (a fraction held as double) into money, half to even. Only estimates may take
// this way; what was measured and paid stays exact.
Result<Money> Estimate(Money whole, double fraction);

// Splits `total` in proportion to `weights` (each >= 0, sum > 0) by largest remainder in units of `unit` nano-units;
// ties go to the earlier part. The parts always sum to the rounded total. For example, $1.00 by 1, 1, 1 in cents is
// 0.34, 0.33, 0.33.
Result<std::vector<Money>> Split(Money total, std::span<const std::int64_t> weights, std::int64_t unit = 1);
// Rounds each exact amount to `unit` so that the column sums to its rounded total (largest remainder). An amount may
// therefore be rounded the other way than by itself, by less than a unit.
Result<std::vector<Money>> RoundColumn(std::span<const Money> exact, std::int64_t unit);

// Whether `text` is the code of a currency (ISO 4217), in capitals.
bool IsCurrencyCode(std::string_view text);
// Digits after the point in the currency's minor unit (ISO 4217): USD 2, JPY 0, KWD 3. Unknown codes: 2.
int MinorUnitDigits(std::string_view currency);
// The minor unit in nano-units: 10^7 for USD (a cent), 10^9 for JPY, which has no decimals.
std::int64_t MinorUnit(std::string_view currency);

// The amount at `digits` decimals, half to even: "13.33". `digits` is 0 to 9.
std::string FormatMoney(Money m, int digits);
// The exact amount: up to nine decimals, trailing zeros trimmed, at least `min_digits`: "13.333333333", "80.00".
std::string FormatExact(Money m, int min_digits = 2);

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
