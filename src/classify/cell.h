#pragma once

#include <array>
#include <bit>
#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "classify/board_watch.h"
#include "classify/thresholds.h"
#include "classify/totals.h"
#include "telemetry/sample.h"

namespace idleburn {

// A cell is one second of a device, reduced to what a phase is decided on. CellAccumulator adds cells up to
// DeviceTotals, and SpinWindow is its part that finds spin-wait. Cells come from dense and from held readings alike, so
// that what a phase is does not depend on how often a device was read.

// Finds spin-wait among the busy cells of one device without knowing the power threshold yet.
//
// A cell is spin-wait when it lies in some run of n consecutive busy cells that all pass the test. For the test of
// power the threshold depends on the idle power of the whole trace, which is known only at the end. So each cell is
// given its *settling level*: the smallest power such that with a threshold above it the cell lies in such a run,
//
//     m(j) = min over the windows of n cells that contain j of (max power in the window),
//
// and its time goes into a histogram of m. At the end spin-wait is the histogram below the threshold: exact, streaming,
// additive. Cells that SM activity settles take part as level kActive (always passes) or kNever.
class SpinWindow {
 public:
  // SM activity says that the GPU is held without work.
  static constexpr std::int64_t kActive = -1;
  // Not busy, not observed, or SM activity says that there is work.
  static constexpr std::int64_t kNever = INT64_MAX;

  // `cells` is n.
  explicit SpinWindow(std::int64_t cells);

  // Takes `count` equal consecutive cells at `level` watts. Each covers `ns` at `utilization`.
  void Push(std::int64_t level, std::int64_t count, std::int64_t ns, std::int64_t utilization, DeviceTotals& totals) {
    if (level == kNever && quiet_ >= 2 * n_) return;  // nothing is left to settle
    PushMany({level, ns, utilization}, count, totals);
  }
  // End of input: no further cell follows.
  void Flush(DeviceTotals& totals);

 private:
  struct Entry {
    std::int64_t level;
    std::int64_t ns;
    std::int64_t utilization;
  };
  // These settle the cells that now have all their neighbours.
  void PushMany(const Entry& cell, std::int64_t count, DeviceTotals& totals);
  void PushOne(const Entry& cell, DeviceTotals& totals);
  // 0 is the oldest of the ring.
  [[nodiscard]] const Entry& At(std::size_t age) const {
    const std::size_t at = oldest_ + age;
    return ring_[at < ring_.size() ? at : at - ring_.size()];
  }
  [[nodiscard]] std::int64_t SettlingLevel();
  // Adds the time of a cell that settled at `level`.
  static void Credit(std::int64_t level, std::int64_t count, const Entry& cell, DeviceTotals& totals);

  std::int64_t n_;
  // The last 2n-1 cells; the middle one is settled by the newest. The oldest is at oldest_, and what follows it goes
  // round.
  std::vector<Entry> ring_;
  std::size_t oldest_ = 0;
  // For SettlingLevel: the highest of the middle cell and the k to its right.
  std::vector<std::int64_t> to_right_;
  std::int64_t quiet_;  // kNever cells since the last other one, up to 2n
};

// The signals whose mean a cell keeps: those of kMeasured but the busy counter, which is the last, by Slot.
inline constexpr std::size_t kAveragedCount = kMeasured.size() - 1;
static_assert(kMeasured[kAveragedCount] == Signal::kUtilization);

// The same, a bit each.
constexpr std::uint32_t AveragedMask() {
  std::uint32_t mask = 0;
  for (std::size_t i = 0; i < kAveragedCount; ++i) mask |= Bit(kMeasured[i]);
  return mask;
}

// Signals that are held from one reading to the next, beside the counter.
constexpr std::uint32_t HeldMask() { return AveragedMask() | Bit(Signal::kEventReasons); }

// How much of a stretch of time each event reason held. A weight is a number of nanoseconds where readings are held,
// and a number of readings where they are averaged.
struct ReasonWeights {
  std::int64_t known = 0;      // the mask was known; without that all others are 0 too
  std::int64_t throttled = 0;  // mask & kThrottledMask
  std::int64_t slowdown = 0;   // mask & kSlowdownMask
  std::int64_t power_cap = 0;  // mask & kThrottledMask == kPowerCapMask
  std::array<std::int64_t, kEventReasonCount> each{};

  // The mask held for `weight` more; a weight below 0 takes an earlier one back.
  void Add(std::int64_t mask, std::int64_t weight) {
    known += weight;
    if (mask == 0) return;
    for (std::size_t i = 0; i < kEventReasonCount; ++i) each[i] += ((mask >> i) & 1) * weight;
    throttled += (mask & kThrottledMask) != 0 ? weight : 0;
    slowdown += (mask & kSlowdownMask) != 0 ? weight : 0;
    power_cap += (mask & kThrottledMask) == kPowerCapMask ? weight : 0;
  }
};

// One second of a device (or `count` equal ones in a row), reduced: what a phase is decided on.
struct Cell {
  std::int64_t second = 0;  // since the epoch
  // So many such seconds in a row; what follows is of each of them.
  std::int64_t count = 1;
  // Time with a valid busy reading, and utilisation x ns over it.
  std::int64_t covered_ns = 0;
  std::int64_t area = 0;
  std::array<std::int64_t, kUnobservedCount> unobserved_ns{};
  // The slots of `side` with time, a bit each.
  std::uint32_t sides = 0;
  std::array<Integral, kAveragedCount> side{};
  // In nanoseconds.
  ReasonWeights reasons;

  // Whether the signal was known for some of the time.
  [[nodiscard]] bool Has(Signal s) const { return ((sides >> Slot(s)) & 1) != 0; }
  // Forgets the signal.
  void Drop(Signal s) {
    side[Slot(s)] = {};
    sides &= ~(std::uint32_t{1} << Slot(s));
  }
  // Sets all back to 0. Only what is in use: to clear it whole costs more than to fill it.
  void Clear() {
    for (std::uint32_t bits = std::exchange(sides, 0); bits != 0; bits &= bits - 1) {
      side[static_cast<std::size_t>(std::countr_zero(bits))] = {};
    }
    if (reasons.known != 0) reasons = {};
    unobserved_ns = {};
    second = covered_ns = area = 0;
    count = 1;
  }

  static constexpr std::int64_t kAbsent = INT64_MIN;
  // The mean of a side signal over the time it was known, rounded toward zero; kAbsent without any.
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
  // `thresholds` outlives this. `by_engine`: the phases come from graphics-engine activity, whose exact 0 at high power
  // is a broken counter.
  CellAccumulator(const Thresholds& thresholds, bool by_engine);

  // Adds the next cell. `max_sm_khz` is the highest SM clock of the board, 0 if unknown.
  void Add(const Cell& cell, std::int64_t max_sm_khz, DeviceTotals& totals);
  // Adds so many nanoseconds without any reading, over one cell or more.
  void AddGap(std::int64_t ns, DeviceTotals& totals);
  // End of input, or of a stretch of it: what follows begins anew.
  void Flush(DeviceTotals& totals);
  // The device has another busy counter from here on.
  void set_by_engine(bool by_engine) { by_engine_ = by_engine; }
  // The power limit of the board as it was read last; absent: not known.
  void set_power_limit(std::optional<std::int64_t> milliwatts) { power_limit_mw_ = milliwatts; }
  // Whether somebody lowered the limit below the board's default, so that a power cap is to blame.
  void set_lowered(bool lowered) { lowered_ = lowered; }
  // What tells whether the board of a MIG instance works. It outlives this.
  void set_board(const BoardWatch* board) { board_ = board; }

 private:
  // A cell that reads 0 although the board works.
  struct Suspect {
    Cell cell;
    std::int64_t max_sm_khz;
  };
  // Whether a process held the GPU while it was idle.
  enum class Context : std::uint8_t { kHeld, kEmpty, kUnknown };
  // The level at which the cell takes part in SpinWindow. Notes in `totals` by what it could be told.
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
  // The suspects turned out to be of a broken counter, and no cell since has said otherwise.
  bool stuck_ = false;

  // A stretch of utilisation of exactly 0, as far as it was accounted for.
  struct Zeros {
    bool open = false;
    ZeroRun run;
  };
  Zeros zeros_;
  // Time without use, up to the cell at hand and with it. No more than Thresholds::idle_power_after is counted.
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
