#pragma once

#include <cstdint>
#include <optional>

#include "base/time.h"
#include "telemetry/sample.h"

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

  // Idle power: --idle-power, milliwatts. Otherwise the 5th percentile of power at utilisation 0, of seconds that lie
  // deep enough in a stretch of 0 % (power falls slowly after work), and only if there are enough of them. More than
  // this share of the limit is no idle power: it is a stall, or a board that was not left alone.
  std::optional<std::int64_t> idle_power;
  std::int64_t idle_power_percentile = 5;
  Nanos idle_power_after{30 * kNanosPerSecond};
  Nanos idle_power_least{60 * kNanosPerSecond};
  std::int64_t idle_power_limit_percent = 30;

  // Kernels run but the board draws little, for at least so long: nobody can tell whether they work. 35 % of the power
  // limit is the most that a board draws idle and the gain error of its sensor.
  std::int64_t dim_limit_percent = 35;
  Nanos dim_after{60 * kNanosPerSecond};

  // Evidence that a GPU that looks busy works; one of these (defaults, unverified on hardware).
  std::int64_t works_sm_from = 50 * kPercent;     // SM activity
  std::int64_t works_limit_percent = 50;          // power, of its limit
  std::int64_t works_load_percent = 40;           // power, of the range from idle to the limit, at full clocks:
  std::int64_t works_clock_tenths_percent = 900;  // of the highest SM clock, and no throttle bit

  // Idle that somebody could have used: utilisation of exactly 0 for so long (--idle-after), less what one waits before
  // stopping (--idle-grace).
  Nanos idle_after{15 * 60 * kNanosPerSecond};
  Nanos idle_grace{5 * 60 * kNanosPerSecond};

  // Loss of SM clock that matters: 5 %.
  std::int64_t clock_loss_tenths_percent = 50;

  // Starvation in bursts: share of ticks at both extremes, B = 4 x f_lo x f_hi > 0.3, with alternation.
  std::int64_t burst_percent = 30;
  std::int64_t burst_block_seconds = 10;
  std::int64_t burst_alternations = 4;

  // A profiling counter at exactly 0 for this long while the GPU is busy is broken, not idle.
  Nanos stuck_after{60 * kNanosPerSecond};
  std::int64_t stuck_busy_from = 20 * kPercent;
  // What a board draws only with work, beyond any error of its sensor, as a share of --idle-power: while
  // graphics-engine activity reads 0, and while utilisation does. Without --idle-power, or beyond it, a share of the
  // power limit. A board of up to 100 W idles at two fifths of its limit with a context (T4: 26.78 of 70 W in P0), so
  // for it half.
  std::int64_t stuck_idle_power_percent = 125;
  std::int64_t stuck_utilization_idle_power_percent = 200;
  std::int64_t stuck_limit_percent = 35;
  std::int64_t stuck_small_limit_percent = 50;
  static constexpr std::int64_t kSmallBoardMw = 100'000;

  // A busy board waits where it draws less than this; the limit is above what it draws idle.
  [[nodiscard]] std::int64_t SpinPowerBelow(std::int64_t idle_mw, std::int64_t limit_mw) const {
    return idle_mw + ((limit_mw - idle_mw) * spin_power_tenths_percent + 999) / 1000;
  }

  // Whether a board that draws `power_mw` works although graphics-engine activity reads 0; false where that cannot be
  // told.
  [[nodiscard]] bool DrawsForWork(std::int64_t power_mw, std::optional<std::int64_t> limit_mw) const {
    if (idle_power) return power_mw * 100 > *idle_power * stuck_idle_power_percent;
    return limit_mw && power_mw * 100 > *limit_mw * StuckLimitPercent(*limit_mw);
  }
  // The same although utilisation reads 0: either share of power is enough, and none is within the error of idle power.
  [[nodiscard]] bool DrawsBeyondIdle(std::int64_t power_mw, std::optional<std::int64_t> limit_mw) const {
    if (idle_power && power_mw * 100 <= *idle_power * stuck_idle_power_percent) return false;
    if (idle_power && power_mw * 100 > *idle_power * stuck_utilization_idle_power_percent) return true;
    return limit_mw && power_mw * 100 > *limit_mw * StuckLimitPercent(*limit_mw);
  }
  // Whether a busy board draws so little that it may as well wait.
  [[nodiscard]] bool IsDim(std::int64_t power_mw, std::int64_t limit_mw) const {
    return power_mw * 100 <= limit_mw * dim_limit_percent;
  }
  // The most that a board may draw idle; above it nothing that was measured is idle power.
  [[nodiscard]] std::int64_t MostIdlePower(std::int64_t limit_mw) const {
    return limit_mw * idle_power_limit_percent / 100;
  }

 private:
  [[nodiscard]] std::int64_t StuckLimitPercent(std::int64_t limit_mw) const {
    return limit_mw > kSmallBoardMw ? stuck_limit_percent : stuck_small_limit_percent;
  }
};

}  // namespace idleburn
