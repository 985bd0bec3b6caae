#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "base/int128.h"
#include "base/money.h"
#include "base/result.h"

namespace idleburn {

// What changed a bill: less time at the old price, and the rest at the new price. Exact, but for rounding to
// billionths; the parts add up to the total.
struct TimeAndRate {
  Money time;   // (Q0* - Q1) * P0: what was avoided
  Money rate;   // Q1 * (P0 - P1)
  Money total;  // Q0* * P0 - Q1 * P1
};

// Q0*: GPU-time that the work would have needed before. Rates per GPU-hour.
Result<TimeAndRate> SplitTimeAndRate(std::int64_t adjusted_baseline_nanos, std::int64_t used_nanos, Money rate_before,
                                     Money rate_after);

// One way in which capacity is bought.
struct CapacityTier {
  Int128 gpu_nanos = 0;  // bought in the period: GPUs * its length
  Money per_gpu_hour;
  bool cancellable = false;  // stops being billed inside the period when it is not used
};

// Cash where hours stop being billed, the dearest that can be cancelled first; what remains of the reduction is freed
// capacity. Two lines, never added: freed GPU-hours cost as before.
struct CashAndFreed {
  Money cash;
  std::vector<Int128> cancelled_gpu_nanos;  // of each tier
  Int128 freed_gpu_nanos = 0;
  Money bill_before;
  Money bill_after;
};

// `reduction`: GPU-time no longer needed, from 0 to all that is bought.
Result<CashAndFreed> SplitCashAndFreed(std::span<const CapacityTier> tiers, Int128 reduction_gpu_nanos);

}  // namespace idleburn
