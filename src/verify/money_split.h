#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "base/int128.h"
#include "base/money.h"
#include "base/result.h"

namespace idleburn {

// What changed a bill, in two parts: less time at the old rate, and the remaining time at the new rate. The order of
// the two is a convention; it makes the parts add up to the total exactly. Amounts are rounded to billionths.
struct TimeAndRate {
  Money time;   // (Q0* - Q1) x P0: avoided time at the old rate
  Money rate;   // Q1 x (P0 - P1): used time at the lower rate
  Money total;  // Q0* x P0 - Q1 x P1
};

// `adjusted_baseline_nanos` is Q0*, the GPU-nanoseconds that the work would have needed before; `used_nanos` is Q1.
// Rates are per GPU-hour. Fails if an amount exceeds what Money can hold.
Result<TimeAndRate> SplitTimeAndRate(std::int64_t adjusted_baseline_nanos, std::int64_t used_nanos, Money rate_before,
                                     Money rate_after);

// One way in which capacity was bought: on demand, a commitment, own hardware.
struct CapacityTier {
  Int128 gpu_nanos = 0;  // bought in the period: GPUs x its length
  Money per_gpu_hour;
  bool cancellable = false;  // unused hours stop being billed within the period
};

// What a reduction of GPU-time is worth: cash where hours stop being billed, and freed capacity for the rest. The two
// are never added, because freed GPU-hours are still paid for.
struct CashAndFreed {
  Money cash;
  std::vector<Int128> cancelled_gpu_nanos;  // by tier
  Int128 freed_gpu_nanos = 0;
  Money bill_before;
  Money bill_after;
};

// `reduction_gpu_nanos` is GPU-time that is no longer needed; a negative one counts as 0. The dearest tiers that can
// be cancelled go first. Example: 10 GPU-hours less, of which 4 on demand at $3 and the rest reserved, are $12 of
// cash and 6 freed GPU-hours. Fails if an amount exceeds what Money can hold.
Result<CashAndFreed> SplitCashAndFreed(std::span<const CapacityTier> tiers, Int128 reduction_gpu_nanos);

}  // namespace idleburn
