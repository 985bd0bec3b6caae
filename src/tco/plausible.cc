#include "tco/plausible.h"

#include <algorithm>
#include <array>

#include "tco/decimal.h"

namespace idleburn {
namespace {

constexpr auto kNearADollar = std::to_array<std::string_view>({"USD", "EUR", "GBP", "CHF", "CAD", "AUD", "SGD"});

constexpr auto kNeverZero = std::to_array<std::string_view>(
    {"gpu_hours", "runs", "replicas", "price", "hourly", "hours", "role_months", "monthly_rate", "labelling_hours",
     "seats", "requests", "tokens", "peak_rps", "purchase_price"});

// Bounds in thousandths. Wide on purpose: they find a forgotten unit (cents, MWh, TB for GB), not a bad price.
struct PlausibleRange {
  std::string_view key;
  std::int64_t least;
  std::int64_t most;
  bool money;
  std::string_view unit;
  std::string_view instead;  // what was perhaps meant
};
constexpr auto kRanges = std::to_array<PlausibleRange>({
    {"price", 10, 200'000, true, "a GPU-hour", "cents, or the price of a whole server"},
    {"tariff", 5, 2'000, true, "a kWh", "cents, or a price of a MWh"},
    {"pue", 1'000, 3'000, false, "of facility per IT energy", "a percentage; it is never below 1"},
    {"watts", 20'000, 3'000'000, false, "a GPU", "kilowatts, or a whole server"},
    {"per_tb_month", 500, 500'000, true, "a TB-month", "the price of a GB"},
    {"per_gb", 0, 5'000, true, "a GB", "the price of a TB"},
    {"rate", 1'000, 2'000'000, true, "an hour of work", "the rate of a month"},
    {"monthly_rate", 200'000, 200'000'000, true, "a role-month", "the rate of an hour or of a year"},
    {"useful_years", 500, 20'000, false, "years", "months"},
    {"life_years", 500, 20'000, false, "years", "months"},
    {"per_million", 0, 1'000'000, true, "10^6 tokens", "the price of another number of them"},
    {"kilowatts", 100, 1'000'000, false, "kW a server", "watts"},
});

}  // namespace

std::optional<std::string> DoubtOf(std::string_view key, const Fraction& value, std::string_view currency) {
  const auto* range = std::find_if(kRanges.begin(), kRanges.end(), [&](const auto& r) { return r.key == key; });
  if (value.top == 0 && std::find(kNeverZero.begin(), kNeverZero.end(), key) != kNeverZero.end()) {
    return "is 0, so that the line costs nothing; is that meant?";
  }
  if (range == kRanges.end() || value.top == 0) return std::nullopt;
  const bool near = std::find(kNearADollar.begin(), kNearADollar.end(), currency) != kNearADollar.end();
  if (range->money && !near) return std::nullopt;
  const Fraction least = Fraction::Of(range->least, 1000);
  const Fraction most = Fraction::Of(range->most, 1000);
  const bool above = Compare(value, most) > 0;
  if (!above && Compare(value, least) >= 0) return std::nullopt;
  return DecimalText(value) + " is " + (above ? "above " : "below ") + DecimalText(above ? most : least) + " " +
         std::string(range->unit) + "; is it " + std::string(range->instead) + "?";
}

}  // namespace idleburn
