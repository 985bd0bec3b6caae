#pragma once

#include <cstdint>
#include <optional>

#include "base/time.h"
#include "telemetry/signal.h"

namespace idleburn {

// Every number that decides a phase, with its reason. All can be set in idleburn.toml or by a flag.
struct Thresholds {
  // Phase bands of the mean utilisation of a cell, half-open: [0,idle) [idle,productive) [productive,bound)
  // [bound,100].
  std::int64_t idle_below = 10 * kPercent;
  std::int64_t productive_from = 70 * kPercent;
  std::int64_t bound_from = 90 * kPercent;

  // A device whose period is at most this has several readings a second: a cell is the mean of its ticks.
  Nanos fast_period{kNanosPerSecond / 2};
  // A reading is held forward until the next one, at most this many periods.
  std::int64_t max_gap_tenths = 25;
  std::optional<Nanos> period;   // --period: of every device, instead of the median of its first intervals
  std::optional<Nanos> max_gap;  // --max-gap: instead of 2.5 periods
  // Of signals beside the counter that were read too seldom at first to tell their period: so long, or as the counter.
  Nanos side_hold{15 * kNanosPerSecond};

  // Memory below this without a process list is no context: driver overhead of an empty GPU.
  std::int64_t held_memory = std::int64_t{100} << 20;

  // Spin-wait among cells at or above bound_from (unverified on hardware until measured).
  std::int64_t spin_sm_below = 25 * kPercent;     // polling kernels occupy a few SMs
  std::int64_t spin_tensor_below = 2 * kPercent;  // where read
  std::int64_t spin_dram_below = 10 * kPercent;   // where read
  std::int64_t spin_power_tenths_percent = 150;   // share of dynamic power; three times the 5 % gain error
  std::int64_t spin_cells = 5;                    // 5 s: more than the 1 s average window of power plus its ramp

  // Idle power when it cannot be measured from the trace: --idle-power, milliwatts.
  std::optional<std::int64_t> idle_power;
  std::int64_t idle_power_percentile = 5;

  // Loss of SM clock that matters: 5 %.
  std::int64_t clock_loss_tenths_percent = 50;

  // Starvation in bursts: share of ticks at both extremes, B = 4 x f_lo x f_hi > 0.3, with alternation.
  std::int64_t burst_percent = 30;
  std::int64_t burst_block_seconds = 10;
  std::int64_t burst_alternations = 4;

  // A profiling counter at exactly 0 for this long while the GPU is busy is broken, not idle.
  Nanos stuck_after{60 * kNanosPerSecond};
  std::int64_t stuck_busy_from = 20 * kPercent;
  // What a board draws only with work, beyond any error of its sensor: 1.25 x --idle-power. Where that is not given,
  // half of its power limit: boards idle at a tenth of it, and with a context at two fifths at most (L4, T4: 30 W of
  // 72).
  std::int64_t stuck_idle_power_percent = 125;
  std::int64_t stuck_limit_percent = 50;

  // A busy board waits where it draws less than this; the limit is above what it draws idle.
  [[nodiscard]] std::int64_t SpinPowerBelow(std::int64_t idle_mw, std::int64_t limit_mw) const {
    return idle_mw + ((limit_mw - idle_mw) * spin_power_tenths_percent + 999) / 1000;
  }

  // Whether a board that draws `power_mw` works, whatever its counters say; false where that cannot be told.
  [[nodiscard]] bool DrawsForWork(std::int64_t power_mw, std::optional<std::int64_t> limit_mw) const {
    if (idle_power) return power_mw * 100 > *idle_power * stuck_idle_power_percent;
    return limit_mw && power_mw * 100 > *limit_mw * stuck_limit_percent;
  }
};

}  // namespace idleburn
