#pragma once

#include <array>
#include <bit>
#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "classify/board_watch.h"
#include "classify/spin_window.h"
#include "classify/thresholds.h"
#include "classify/totals.h"
#include "telemetry/sample.h"

namespace idleburn {

// Signals of which a cell keeps the mean: those of kMeasured but the busy counter, which is the last, by Slot.
inline constexpr std::size_t kAveragedCount = kMeasured.size() - 1;
static_assert(kMeasured[kAveragedCount] == Signal::kUtilization);

constexpr std::uint32_t AveragedMask() {
  std::uint32_t mask = 0;
  for (std::size_t i = 0; i < kAveragedCount; ++i) mask |= Bit(kMeasured[i]);
  return mask;
}

// Signals that are held from one reading to the next, beside the counter.
constexpr std::uint32_t HeldMask() { return AveragedMask() | Bit(Signal::kEventReasons); }

// One second of a device (or `count` equal ones in a row), reduced: what a phase is decided on.
struct Cell {
  std::int64_t second = 0;  // since the epoch
  std::int64_t count = 1;
  std::int64_t covered_ns = 0;                                 // of each: time with a valid busy reading
  std::int64_t area = 0;                                       // of each: utilisation x ns over the covered time
  std::array<std::int64_t, kUnobservedCount> unobserved_ns{};  // of each
  std::uint32_t sides = 0;                                     // the slots of `side` with time, a bit each
  std::array<Integral, kAveragedCount> side{};                 // of each, by Slot
  std::int64_t throttled_ns = 0;                               // of each: mask & kThrottledMask
  std::int64_t slowdown_ns = 0;                                // mask & kSlowdownMask
  std::int64_t power_cap_ns = 0;                               // mask & kThrottledMask == kPowerCapMask
  std::array<std::int64_t, kEventReasonCount> reason_ns{};
  std::int64_t reasons_ns = 0;  // of each: the mask is known; elsewhere these four are 0

  [[nodiscard]] bool Has(Signal s) const { return ((sides >> Slot(s)) & 1) != 0; }
  void Drop(Signal s) {
    side[Slot(s)] = {};
    sides &= ~(std::uint32_t{1} << Slot(s));
  }
  // Back to all 0. Only what is in use: to clear it whole costs more than to fill it.
  void Clear() {
    for (std::uint32_t bits = std::exchange(sides, 0); bits != 0; bits &= bits - 1) {
      side[static_cast<std::size_t>(std::countr_zero(bits))] = {};
    }
    if (reasons_ns != 0) reason_ns = {};
    throttled_ns = slowdown_ns = power_cap_ns = reasons_ns = 0;
    unobserved_ns = {};
    second = covered_ns = area = 0;
    count = 1;
  }

  // Mean of a side signal over the time it was known, rounded toward zero; kAbsent without any.
  static constexpr std::int64_t kAbsent = INT64_MIN;
  [[nodiscard]] std::int64_t Mean(Signal s) const {
    const Integral& i = side[Slot(s)];
    return i.ns == 0 ? kAbsent : Quotient(i.area, i.ns);
  }
  // area / ns, rounded toward zero. A division of 64 bits costs a tenth of one of 128, and one by the whole second that
  // nearly every cell is, known beforehand, is a multiplication.
  [[nodiscard]] static std::int64_t Quotient(Int128 area, std::int64_t ns) {
    if (!FitsInt64(area)) return static_cast<std::int64_t>(area / ns);
    const auto narrow = static_cast<std::int64_t>(area);
    return ns == kNanosPerSecond ? narrow / kNanosPerSecond : narrow / ns;
  }
};

// Phase of a mean area / ns (area >= 0, ns > 0), by half-open bands. Their edges are whole numbers, so what rounding
// the mean down takes off it decides nothing.
Phase PhaseOf(std::int64_t area, std::int64_t ns, const Thresholds& thresholds);

// Adds up cells of one device in order of time: phases, idle split, spin-wait candidates, throttling, timeline.
class CellAccumulator {
 public:
  // `max_sm_khz`: the board's highest SM clock, 0 if unknown. `by_engine`: the phases come from graphics-engine
  // activity, whose exact 0 at high power is a broken counter.
  CellAccumulator(const Thresholds& thresholds, bool by_engine);

  void Add(const Cell& cell, std::int64_t max_sm_khz, DeviceTotals& totals);
  // So many nanoseconds, over one cell or more, without any reading.
  void AddGap(std::int64_t ns, DeviceTotals& totals);
  // End of input, or of a stretch of it: what follows begins anew.
  void Flush(DeviceTotals& totals);
  void set_by_engine(bool by_engine) { by_engine_ = by_engine; }
  // Of the board, where known; as it was read last.
  void set_power_limit(std::optional<std::int64_t> milliwatts) { power_limit_mw_ = milliwatts; }
  // Whether somebody lowered the limit below the board's default, so that a power cap is to blame.
  void set_lowered(bool lowered) { lowered_ = lowered; }
  // Of a MIG instance, which outlives this: what tells whether its board works.
  void set_board(const BoardWatch* board) { board_ = board; }

 private:
  struct Suspect {
    Cell cell;
    std::int64_t max_sm_khz;
  };
  enum class Context : std::uint8_t { kHeld, kEmpty, kUnknown };
  [[nodiscard]] std::int64_t SpinLevel(const Cell& cell, Phase phase, DeviceTotals& totals) const;
  [[nodiscard]] std::int64_t SpinWatts(std::int64_t power_mw) const;
  void AddIdle(const Cell& cell, Context context, DeviceTotals& totals) const;
  void FollowQuiet(const Cell& cell, bool whole);
  void FollowZeros(const Cell& cell);
  void EndZeros(DeviceTotals& totals);
  void EndStreaks(DeviceTotals& totals);
  void FollowDim(const Cell& cell, bool may_be, DeviceTotals& totals);
  void AddThrottling(const Cell& cell, std::int64_t max_sm_khz, Phase phase, DeviceTotals& totals) const;
  void AddMeasured(const Cell& cell, DeviceTotals& totals) const;
  static void AddTimeline(const Cell& cell, Phase phase, bool held, DeviceTotals& totals);
  [[nodiscard]] bool IsSuspect(const Cell& cell) const;
  void HoldSuspect(const Cell& cell, std::int64_t max_sm_khz, DeviceTotals& totals);
  void ReleaseSuspects(DeviceTotals& totals);
  void Account(const Cell& cell, std::int64_t max_sm_khz, DeviceTotals& totals);
  [[nodiscard]] Context ContextOf(const Cell& cell) const;

  const Thresholds* thresholds_;
  bool by_engine_;
  SpinWindow spin_;
  std::optional<std::int64_t> power_limit_mw_;
  bool lowered_ = false;
  const BoardWatch* board_ = nullptr;
  // Cells that may turn out to be of a broken counter, until a minute of them says so or one says that they are not.
  std::vector<Suspect> suspects_;
  std::int64_t suspect_ns_ = 0;
  bool stuck_ = false;  // they did, and no cell since has said otherwise

  // Utilisation of exactly 0 without a break.
  struct Zeros {
    bool open = false;
    ZeroRun run;  // as far as it was accounted for
  };
  Zeros zeros_;
  // Time without use up to the cell at hand, and with it; no more than Thresholds::idle_power_after.
  std::int64_t quiet_before_ = 0;
  std::int64_t quiet_now_ = 0;
  // Busy cells at little power, until there are enough of them (Thresholds::dim_after).
  struct Dim {
    std::int64_t watts;
    std::int64_t ns;
    std::int64_t utilization;
  };
  std::vector<Dim> dim_;
  std::int64_t dim_ns_ = 0;
};

}  // namespace idleburn
