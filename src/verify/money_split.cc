#include "verify/money_split.h"

#include <algorithm>
#include <numeric>

#include "base/time.h"

namespace idleburn {
namespace {

// Sums are kept exact, in nano-units x GPU-nanoseconds per hour, and rounded once, here.
Result<Money> Rounded(Int128 nano_gpu_nanos) { return Scale(Money::Nano(1), nano_gpu_nanos, kNanosPerHour); }

}  // namespace

Result<TimeAndRate> SplitTimeAndRate(std::int64_t adjusted_baseline_nanos, std::int64_t used_nanos, Money rate_before,
                                     Money rate_after) {
  const Int128 avoided = (Int128{adjusted_baseline_nanos} - used_nanos) * rate_before.nano();
  const Int128 cheaper = (Int128{rate_before.nano()} - rate_after.nano()) * used_nanos;
  const Result<Money> time = Rounded(avoided);
  const Result<Money> total = Rounded(avoided + cheaper);
  TRY(time);
  TRY(total);
  // The rate's part is the difference, so that both parts sum to the rounded total.
  return TimeAndRate{*time, Money::Nano(total->nano() - time->nano()), *total};
}

Result<CashAndFreed> SplitCashAndFreed(std::span<const CapacityTier> tiers, Int128 reduction_gpu_nanos) {
  CashAndFreed split;
  split.cancelled_gpu_nanos.assign(tiers.size(), 0);
  std::vector<std::size_t> dearest_first(tiers.size());
  std::iota(dearest_first.begin(), dearest_first.end(), std::size_t{0});
  std::stable_sort(dearest_first.begin(), dearest_first.end(),
                   [&](std::size_t a, std::size_t b) { return tiers[a].per_gpu_hour > tiers[b].per_gpu_hour; });
  Int128 left = std::max<Int128>(reduction_gpu_nanos, 0);
  Int128 bought = 0;
  Int128 saved = 0;
  for (const std::size_t i : dearest_first) {
    const CapacityTier& tier = tiers[i];
    bought += tier.gpu_nanos * tier.per_gpu_hour.nano();
    if (!tier.cancellable) continue;
    split.cancelled_gpu_nanos[i] = std::min(left, tier.gpu_nanos);
    left -= split.cancelled_gpu_nanos[i];
    saved += split.cancelled_gpu_nanos[i] * tier.per_gpu_hour.nano();
  }
  split.freed_gpu_nanos = left;
  const Result<Money> cash = Rounded(saved);
  const Result<Money> bill = Rounded(bought);
  TRY(cash);
  TRY(bill);
  split.cash = *cash;
  split.bill_before = *bill;
  split.bill_after = Money::Nano(bill->nano() - cash->nano());
  return split;
}

}  // namespace idleburn
