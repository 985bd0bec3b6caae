#include "compare/comparison_report.h"

#include <algorithm>
#include <cmath>

#include "text/number.h"

// The money of a comparison. Time becomes money here, after the verdict and never before: a verdict is about GPU time
// per unit of work, and must not change with a price. GPU-seconds of a verdict are estimates held as doubles. They
// become whole nanoseconds once, so that all amounts below are exact and add up.

namespace idleburn {

namespace {

// The most GPU-seconds that 64 bits of nanoseconds can hold.
constexpr double kMostGpuSeconds = 9e9;
constexpr int kHourDecimals = 6;

// Rounds to microseconds. GPU-seconds are estimates here, and what lies below is arithmetic noise.
std::int64_t NanosOf(double gpu_seconds) { return std::llround(gpu_seconds * 1e6) * 1000; }

// INVALID and NOT_SHOWN have no money: an amount beside them would be quoted without the verdict.
bool IsShown(Verdict verdict) { return verdict != Verdict::kInvalid && verdict != Verdict::kNotShown; }

// Splits avoided hours by the tiers of capacity. If the work needs more hours, no tier is cancelled, and freed capacity
// is negative.
Result<void> SplitTiers(const std::vector<CapacityTier>& tiers, std::int64_t avoided, SavingMoney& money) {
  const Result<CashAndFreed> split = SplitCashAndFreed(tiers, std::max<std::int64_t>(avoided, 0));
  if (!split) return tl::unexpected<Error>(Error{"compare: --tier: " + split.error().message});
  money.cash = split->cash;
  money.freed_gpu_hours = InHours(avoided < 0 ? Int128{avoided} : split->freed_gpu_nanos);
  money.bill_before = split->bill_before;
  money.bill_after = split->bill_after;
  return {};
}

}  // namespace

// The name is for the user alone: no figure is given by tier.
Result<CapacityTier> ParseTier(const std::string& text) {
  const std::size_t equals = text.find('=');
  std::string_view rest = equals == std::string::npos ? std::string_view() : std::string_view(text).substr(equals + 1);
  const std::size_t colon = rest.find(':');
  const ScaledNumber hours = ParseScaled(Trim(rest.substr(0, colon)), kHourDecimals);
  std::string_view price = colon == std::string_view::npos ? std::string_view() : rest.substr(colon + 1);
  const std::size_t end = price.find(':');
  const std::string_view word = end == std::string_view::npos ? std::string_view() : Trim(price.substr(end + 1));
  const Result<Money> per_hour = Money::Parse(Trim(price.substr(0, end)));
  if (hours.fault != NumberFault::kNone || hours.value < 0 || !per_hour || per_hour->nano() < 0 ||
      (end != std::string_view::npos && word != "cancellable")) {
    return FailUsage("compare: --tier '" + text.substr(0, 60) +
                     "' is not NAME=GPU_HOURS:PRICE[:cancellable], as in reserved=46080:2.10");
  }
  CapacityTier tier;
  tier.gpu_nanos = Int128{hours.value} * kNanosPerHour / 1'000'000;
  tier.per_gpu_hour = *per_hour;
  tier.cancellable = word == "cancellable";
  return tier;
}

Result<void> FillMoney(const std::vector<CapacityTier>& tiers, ComparisonReport& report) {
  const SavingVerdict& verdict = report.verdict;
  if (!IsShown(verdict.verdict) || !verdict.avoided_gpu_seconds) {
    report.no_money = IsShown(verdict.verdict) ? "none: a saving per step is not a bill" : "none: no saving is shown";
    return {};
  }
  const double needed = verdict.avoided_gpu_seconds->fraction + verdict.after.gpu_seconds;
  if (needed > kMostGpuSeconds || verdict.after.gpu_seconds > kMostGpuSeconds) {
    return Fail("compare: more than 2.5 million GPU-hours in one comparison; compare them in parts");
  }
  SavingMoney money;
  money.currency = report.rate.currency;
  money.rate_before = report.rate.per_gpu_hour;
  money.rate_after = report.rate_after.per_gpu_hour;
  const std::int64_t avoided = NanosOf(verdict.avoided_gpu_seconds->fraction);
  const std::int64_t used = NanosOf(verdict.after.gpu_seconds);
  // Avoided time is priced at the rate before, because that is what it would have cost.
  // Time at the old rate, then the change of the rate for the time that was used.
  if (money.rate_before && money.rate_after) {
    money.parts = TRY(SplitTimeAndRate(avoided + used, used, *money.rate_before, *money.rate_after));
  }
  // Tiers are the most exact statement of what can be cancelled, so they decide before the claim's --cashable.
  if (!tiers.empty()) {
    TRY(SplitTiers(tiers, avoided, money));
  } else if (report.claim.cashable) {
    if (money.parts) money.cash = money.parts->time;
  } else {
    money.freed_gpu_hours = InHours(avoided);
    if (money.parts) money.cash = Money();
  }
  // A lower rate stops being billed in any case.
  if (money.cash && money.parts) {
    money.cash = TRY(Add(*money.cash, money.parts->rate));
  }
  report.money = money;
  return {};
}

}  // namespace idleburn
