#pragma once

#include <compare>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/int128.h"
#include "base/result.h"

namespace idleburn {

inline constexpr std::int64_t kCent = 10'000'000;  // nano-units in a hundredth

// An exact amount of one currency: a count of billionths of its unit (1 USD = 10^9). Covers +-9.2 billion.
// Arithmetic that would overflow is an error, never a wrap.
class Money {
 public:
  constexpr Money() = default;
  static constexpr Money Nano(std::int64_t n) { return Money(n); }
  static constexpr Money Cents(std::int64_t c) { return Money(c * kCent); }
  // Decimal text ("2.49", "-0.5") to money, directly, never through binary floating point. More than nine
  // decimals after trimming zeros is an error.
  static Result<Money> Parse(std::string_view text);
  // As Parse, but rounds a tenth decimal and beyond half to even; sets *rounded when it did.
  static Result<Money> ParseRounding(std::string_view text, bool* rounded);

  [[nodiscard]] constexpr std::int64_t nano() const { return nano_; }
  constexpr auto operator<=>(const Money&) const = default;

 private:
  explicit constexpr Money(std::int64_t n) : nano_(n) {}
  std::int64_t nano_ = 0;
};

Result<Money> Add(Money a, Money b);
// a x numerator / denominator, rounded half to even once. denominator > 0.
Result<Money> Scale(Money a, Int128 numerator, Int128 denominator);
// rate per GPU-hour x GPU-nanoseconds. Sum the nanoseconds first and price once per rate.
Result<Money> Price(Money per_gpu_hour, std::int64_t gpu_nanos);
// The one conversion of an estimate (a fraction held as double) into money, half to even.
Result<Money> Estimate(Money whole, double fraction);

// Splits `total` in proportion to `weights` (each >= 0, sum > 0) by largest remainder in units of `unit`
// nano-units; ties go to the earlier part. The parts always sum to the rounded total.
Result<std::vector<Money>> Split(Money total, std::span<const std::int64_t> weights, std::int64_t unit = 1);
// Rounds each exact amount to `unit` so that the column sums to its rounded total (largest remainder).
Result<std::vector<Money>> RoundColumn(std::span<const Money> exact, std::int64_t unit);

// Is `text` the code of a currency (ISO 4217)?
bool IsCurrencyCode(std::string_view text);
// Digits after the point in the currency's minor unit (ISO 4217): USD 2, JPY 0, KWD 3. Unknown codes: 2.
int MinorUnitDigits(std::string_view currency);

// "13.33": half to even at `digits` decimals.
std::string FormatMoney(Money m, int digits);
// Up to nine decimals, trailing zeros trimmed, at least `min_digits`: "13.333333333", "80.00".
std::string FormatExact(Money m, int min_digits = 2);
// FormatMoney with a comma between thousands, for people: "70,790.40".
std::string FormatGrouped(Money m, int digits);

}  // namespace idleburn
