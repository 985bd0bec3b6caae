#include "classify/cell.h"

#include <algorithm>
#include <bit>
#include <utility>

namespace idleburn {
namespace {

// A mean in whole steps. Nearly every mean is of a whole second, and then the divisor is a constant: one
// multiplication. The powers of two in the step are shifted out first, so that areas of memory fit 63 bits.
template <std::int64_t kStep>
std::int64_t StepsOf(const Integral& mean) {
  constexpr int kShift = std::countr_zero(static_cast<std::uint64_t>(kStep));
  constexpr std::uint64_t kSecond = (kStep >> kShift) * kNanosPerSecond;
  const bool fits = static_cast<std::uint64_t>(mean.area >> 63) >> kShift == 0;  // never of a negative area
  if (fits && mean.ns == kNanosPerSecond)
    return static_cast<std::int64_t>(static_cast<std::uint64_t>(mean.area >> kShift) / kSecond);
  return mean.area <= 0 ? 0 : static_cast<std::int64_t>(mean.area / (static_cast<Int128>(kStep) * mean.ns));
}

// Enters the mean of a second into the spread of its signal, for the percentiles of a report.
template <std::size_t kSlot>
void AddToSpread(const Integral& mean, std::int64_t count, DeviceTotals& totals) {
  constexpr std::int64_t kStep = SpreadStep(Info(kMeasured[kSlot]).unit);
  totals.range[kSlot].seconds.Add(StepsOf<kStep>(mean), mean.ns * count);
}

// There is one function for each slot: with all its constants known it takes half the instructions.
template <std::size_t kSlot>
void AddSide(const Cell& cell, DeviceTotals& totals) {
  if (((cell.sides >> kSlot) & 1) == 0) return;
  const Integral& side = cell.side[kSlot];
  (totals.*kMeasuredMean[kSlot]).Merge(side.Times(cell.count));
  AddToSpread<kSlot>(side, cell.count, totals);
}

template <std::size_t... kSlots>
void AddSides(const Cell& cell, DeviceTotals& totals, std::index_sequence<kSlots...> /*slots*/) {
  (AddSide<kSlots>(cell, totals), ...);
}

}  // namespace

SpinWindow::SpinWindow(std::int64_t cells)
    : n_(std::max<std::int64_t>(cells, 1)),
      ring_(static_cast<std::size_t>(2 * n_ - 1), Entry{kNever, 0, 0}),
      to_right_(static_cast<std::size_t>(n_)),
      quiet_(2 * n_) {}

void SpinWindow::Credit(std::int64_t level, std::int64_t count, const Entry& cell, DeviceTotals& totals) {
  if (level == kNever) return;
  if (level == kActive) {
    totals.spin_by_activity.Add(cell.ns * count, cell.utilization);
  } else {
    totals.spin_by_power.Add(level, cell.ns * count, cell.utilization);
  }
}

// A window that begins k cells before the middle one is the middle one with k cells to its left and n - 1 - k to its
// right.
std::int64_t SpinWindow::SettlingLevel() {
  const auto n = static_cast<std::size_t>(n_);
  std::int64_t highest = At(n - 1).level;
  for (std::size_t k = 0; k < n; ++k) {
    highest = std::max(highest, At(n - 1 + k).level);
    to_right_[k] = highest;
  }
  highest = At(n - 1).level;
  std::int64_t settling = kNever;
  for (std::size_t k = 0; k < n; ++k) {
    highest = std::max(highest, At(n - 1 - k).level);
    settling = std::min(settling, std::max(highest, to_right_[n - 1 - k]));
  }
  return settling;
}

void SpinWindow::PushOne(const Entry& cell, DeviceTotals& totals) {
  if (cell.level != kNever) {
    quiet_ = 0;
  } else if (quiet_ < 2 * n_) {
    ++quiet_;
  } else {
    return;  // the ring holds nothing but kNever
  }
  ring_[oldest_] = cell;
  oldest_ = oldest_ + 1 < ring_.size() ? oldest_ + 1 : 0;
  const Entry& middle = At(static_cast<std::size_t>(n_ - 1));
  if (middle.level != kNever) Credit(SettlingLevel(), 1, middle, totals);
}

void SpinWindow::PushMany(const Entry& cell, std::int64_t count, DeviceTotals& totals) {
  const std::int64_t edge = 2 * n_;
  if (count > 2 * edge) {
    // Cells at least n away from both ends of a run of equal cells settle at their own level.
    for (std::int64_t i = 0; i < edge; ++i) PushOne(cell, totals);
    Credit(cell.level, count - 2 * edge, cell, totals);
    count = edge;
  }
  for (std::int64_t i = 0; i < count; ++i) PushOne(cell, totals);
}

void SpinWindow::Flush(DeviceTotals& totals) { Push(kNever, 2 * n_, 0, 0, totals); }

// Each edge that the mean has reached is one phase up.
Phase PhaseOf(std::int64_t area, std::int64_t ns, const Thresholds& thresholds) {
  const std::int64_t mean = Cell::Quotient(area, ns);
  return static_cast<Phase>((mean >= thresholds.idle_below ? 1 : 0) + (mean >= thresholds.productive_from ? 1 : 0) +
                            (mean >= thresholds.bound_from ? 1 : 0));
}

CellAccumulator::CellAccumulator(const Thresholds& thresholds, bool by_engine)
    : thresholds_(&thresholds), by_engine_(by_engine), spin_(thresholds.spin_cells) {}

// A few percent of use are somebody's. Such a GPU is not empty, whatever the list of processes or its memory say.
CellAccumulator::Context CellAccumulator::ContextOf(const Cell& cell) const {
  const Context none = cell.area == 0 ? Context::kEmpty : Context::kUnknown;
  const Integral& processes = cell.side[Slot(Signal::kProcesses)];
  if (processes.ns != 0) return processes.area > 0 ? Context::kHeld : none;
  const Integral& memory = cell.side[Slot(Signal::kMemoryUsed)];
  if (memory.ns == 0) return Context::kUnknown;
  return memory.area >= static_cast<Int128>(thresholds_->held_memory) * memory.ns ? Context::kHeld : none;
}

// SM activity decides where it was read, and power elsewhere. A cell with neither counts as work.
std::int64_t CellAccumulator::SpinLevel(const Cell& cell, Phase phase, DeviceTotals& totals) const {
  if (phase != Phase::kComputeBound || cell.covered_ns == 0) return SpinWindow::kNever;
  const std::int64_t sm = cell.Mean(Signal::kSmActive);
  // Exactly 0 while a kernel is resident is no wait. It is a counter that is not being read.
  if (sm > 0) {
    totals.bound_with_activity_ns += cell.covered_ns * cell.count;
    const std::int64_t tensor = cell.Mean(Signal::kTensorActive);
    const std::int64_t dram = cell.Mean(Signal::kDramActive);
    const bool waits = sm < thresholds_->spin_sm_below &&
                       (tensor == Cell::kAbsent || tensor < thresholds_->spin_tensor_below) &&
                       (dram == Cell::kAbsent || dram < thresholds_->spin_dram_below);
    return waits ? SpinWindow::kActive : SpinWindow::kNever;
  }
  const std::int64_t power = cell.Mean(Signal::kPower);
  if (power == Cell::kAbsent) return SpinWindow::kNever;
  totals.bound_with_power_ns += cell.covered_ns * cell.count;
  return SpinWatts(std::max<std::int64_t>(power, 0));
}

// Spin-wait is settled at the end in whole watts (SpinWindow). Where the edge is known beforehand, power above it but
// within its watt counts as the next watt, so that the test is exact.
std::int64_t CellAccumulator::SpinWatts(std::int64_t power_mw) const {
  const std::int64_t watts = power_mw / 1000;
  if (!thresholds_->idle_power || !power_limit_mw_) return watts;
  const std::int64_t edge = thresholds_->SpinPowerBelow(*thresholds_->idle_power, *power_limit_mw_);
  return watts == edge / 1000 && power_mw >= edge ? watts + 1 : watts;
}

void CellAccumulator::AddIdle(const Cell& cell, Context context, DeviceTotals& totals) const {
  const std::int64_t ns = cell.covered_ns * cell.count;
  std::int64_t* const split[] = {&totals.idle_held_ns, &totals.idle_empty_ns, &totals.idle_unknown_ns};
  *split[static_cast<std::size_t>(context)] += ns;
  const std::int64_t power = cell.Mean(Signal::kPower);
  if (quiet_now_ == 0 || power == Cell::kAbsent) return;
  const std::int64_t lacking = std::max<std::int64_t>(thresholds_->idle_power_after.count() - quiet_before_, 0);
  const std::int64_t deep = cell.count - (lacking + cell.covered_ns - 1) / cell.covered_ns;
  if (deep <= 0) return;
  (context == Context::kHeld ? totals.idle_power_held : totals.idle_power_empty)
      .Add(power / 1000, cell.covered_ns * deep, 0);
}

// Only a second without use tells what a board draws idle. A context alone makes utilisation read 0 to 2 % in turn, so
// that much is no use.
void CellAccumulator::FollowQuiet(const Cell& cell, bool whole) {
  constexpr std::int64_t kUsedFrom = 2 * kPercent;
  const bool quiet = whole && cell.area < kUsedFrom * cell.covered_ns;
  quiet_before_ = quiet_now_;
  quiet_now_ = quiet ? std::min(quiet_now_ + cell.covered_ns * cell.count, thresholds_->idle_power_after.count()) : 0;
}

// A cell at 0 % goes on from where the last one ended. A cell that is partly observed ends the run before it, and
// begins no other.
void CellAccumulator::FollowZeros(const Cell& cell) {
  const std::int64_t begin = cell.second * kNanosPerSecond;
  if (!zeros_.open) {
    const bool at_the_end = cell.count == 1 && cell.covered_ns < kNanosPerSecond;
    zeros_ = {true, {at_the_end ? begin + kNanosPerSecond - cell.covered_ns : begin, 0}};
  }
  zeros_.run.ns += cell.covered_ns * cell.count;
}

// Stretches that touch are one, whatever ended the first.
void CellAccumulator::EndZeros(DeviceTotals& totals) {
  if (!zeros_.open) return;
  const ZeroRun run = std::exchange(zeros_, {}).run;
  if (run.ns == 0 || run.ns < thresholds_->idle_after.count()) return;
  std::vector<ZeroRun>& runs = totals.zero_runs;
  if (!runs.empty() && runs.back().to() == run.from) {
    runs.back().ns += run.ns;
  } else {
    runs.push_back(run);
  }
}

// `may_be`: the cell is busy, and SM activity does not settle it.
void CellAccumulator::FollowDim(const Cell& cell, bool may_be, DeviceTotals& totals) {
  const std::int64_t power = may_be && power_limit_mw_ ? cell.Mean(Signal::kPower) : Cell::kAbsent;
  if (power == Cell::kAbsent || !thresholds_->IsDim(power, *power_limit_mw_)) {
    dim_.clear();
    dim_ns_ = 0;
    return;
  }
  const std::int64_t ns = cell.covered_ns * cell.count;
  dim_.push_back({SpinWatts(std::max<std::int64_t>(power, 0)), ns, Cell::Quotient(cell.area, cell.covered_ns)});
  dim_ns_ = std::min(dim_ns_ + ns, thresholds_->dim_after.count());
  if (dim_ns_ < thresholds_->dim_after.count()) return;
  for (const Dim& d : dim_) totals.dim_by_power.Add(d.watts, d.ns, d.utilization);
  dim_.clear();
}

// Throttling matters where it cost clock, so times with and without loss are kept apart.
void CellAccumulator::AddThrottling(const Cell& cell, std::int64_t max_sm_khz, Phase phase,
                                    DeviceTotals& totals) const {
  if (cell.reasons.known > 0) {
    totals.reasons_ns += cell.reasons.known * cell.count;
    for (std::size_t i = 0; i < kEventReasonCount; ++i) totals.reason_ns[i] += cell.reasons.each[i] * cell.count;
    totals.throttled_ns += cell.reasons.throttled * cell.count;
  }
  const std::int64_t clock = cell.Mean(Signal::kSmClock);
  if (clock != Cell::kAbsent && phase == Phase::kComputeBound)
    totals.busy_clock.Add(cell.covered_ns * cell.count, clock);
  if (phase == Phase::kIdle) return;  // the clock of an idle board says nothing
  const bool told = clock != Cell::kAbsent && max_sm_khz != 0;
  (told ? totals.throttled_told_ns : totals.throttled_untold_ns) += cell.reasons.throttled * cell.count;
  if (!told) return;
  const bool loss = (max_sm_khz - clock) * 1000 >= thresholds_->clock_loss_tenths_percent * max_sm_khz;
  if (!loss) return;
  totals.slowdown_with_loss_ns += cell.reasons.slowdown * cell.count;
  // A loaded board usually runs at its power cap. So a cap counts only where somebody lowered the limit.
  if (lowered_) totals.power_cap_with_loss_ns += cell.reasons.power_cap * cell.count;
  if (cell.reasons.slowdown > 0) totals.throttled_clock.Add(cell.reasons.slowdown * cell.count, clock);
}

// Equal cells may span several buckets.
void CellAccumulator::AddTimeline(const Cell& cell, Phase phase, bool held, DeviceTotals& totals) {
  constexpr std::int64_t kMib = std::int64_t{1} << 20;
  std::optional<std::int32_t> memory_mib;
  if (cell.Has(Signal::kMemoryUsed)) {
    const std::int64_t mib = StepsOf<kMib>(cell.side[Slot(Signal::kMemoryUsed)]);
    memory_mib = static_cast<std::int32_t>(std::min<std::int64_t>(mib, INT32_MAX));
  }
  std::int64_t left = cell.count;
  for (std::int64_t second = cell.second; left > 0;) {
    Timeline::Bucket& bucket = totals.timeline.At(second);
    const std::int64_t width = totals.timeline.bucket_seconds;
    const std::int64_t n = left == 1 ? 1 : std::min(left, width - second % width);
    const std::int64_t ns = cell.covered_ns * n;
    if (ns > 0) {
      bucket.phase_ns[static_cast<std::size_t>(phase)] += ns;
      bucket.utilization.Merge(Integral{cell.covered_ns, cell.area}.Times(n));
      if (held) bucket.held_ns += ns;
    }
    const auto add = [&](Integral& into, Signal s) { into.Merge(cell.side[Slot(s)].Times(n)); };
    add(bucket.power, Signal::kPower);
    if (cell.Has(Signal::kSmActive)) add(bucket.sm_active, Signal::kSmActive);
    if (phase == Phase::kComputeBound && ns > 0) add(bucket.busy_power, Signal::kPower);
    bucket.throttled_ns += cell.reasons.throttled * n;
    bucket.memory_mib = std::max(bucket.memory_mib, memory_mib);
    second += n;
    left -= n;
  }
}

// Whether the counter reads exactly 0 while the board draws what it draws only with work.
bool CellAccumulator::IsSuspect(const Cell& cell) const {
  if (cell.covered_ns == 0 || cell.area != 0) return false;
  if (by_engine_ && board_ != nullptr) return board_->WorksUnseen(cell.second, cell.second + cell.count);
  const std::int64_t power = cell.Mean(Signal::kPower);
  if (power == Cell::kAbsent) return false;
  return by_engine_ ? thresholds_->DrawsForWork(power, power_limit_mw_)
                    : thresholds_->DrawsBeyondIdle(power, power_limit_mw_);
}

// Suspects wait until a minute of them has come. That is a broken counter and no idle one, so all of their time is
// unobserved.
void CellAccumulator::HoldSuspect(const Cell& cell, std::int64_t max_sm_khz, DeviceTotals& totals) {
  suspects_.push_back({cell, max_sm_khz});
  suspect_ns_ += cell.covered_ns * cell.count;
  stuck_ = stuck_ || suspect_ns_ >= thresholds_->stuck_after.count();
  if (!stuck_) return;
  (by_engine_ ? totals.profiling_stuck : totals.utilization_stuck) = true;
  for (Suspect& suspect : suspects_) {
    Cell& blind = suspect.cell;
    blind.unobserved_ns[static_cast<std::size_t>(Unobserved::kInvalidCounter)] += blind.covered_ns;
    blind.covered_ns = 0;
    if (by_engine_) blind.Drop(Signal::kGrEngineActive);
    Account(blind, suspect.max_sm_khz, totals);
  }
  suspects_.clear();
}

void CellAccumulator::ReleaseSuspects(DeviceTotals& totals) {
  for (const Suspect& suspect : suspects_) Account(suspect.cell, suspect.max_sm_khz, totals);
  suspects_.clear();
  suspect_ns_ = 0;
  stuck_ = false;
}

void CellAccumulator::Add(const Cell& cell, std::int64_t max_sm_khz, DeviceTotals& totals) {
  if (IsSuspect(cell)) return HoldSuspect(cell, max_sm_khz, totals);
  if (suspect_ns_ != 0) ReleaseSuspects(totals);
  Account(cell, max_sm_khz, totals);
}

// Adds the means and spreads of all that was read.
void CellAccumulator::AddMeasured(const Cell& cell, DeviceTotals& totals) const {
  AddSides(cell, totals, std::make_index_sequence<kAveragedCount>());
  if (cell.covered_ns > 0 && !by_engine_)
    AddToSpread<Slot(Signal::kUtilization)>({cell.covered_ns, cell.area}, cell.count, totals);
}

// A cell without covered time has no phase; it ends what lasts and counts as unobserved.
void CellAccumulator::Account(const Cell& cell, std::int64_t max_sm_khz, DeviceTotals& totals) {
  bool whole = true;
  if (cell.covered_ns < kNanosPerSecond) {
    for (const std::int64_t ns : cell.unobserved_ns) whole = whole && ns == 0;
    for (std::size_t i = 0; i < kUnobservedCount; ++i) totals.unobserved_ns[i] += cell.unobserved_ns[i] * cell.count;
  }
  Phase phase = Phase::kIdle;
  std::int64_t mean = 0;
  bool held = false;  // while idle
  if (cell.covered_ns > 0) {
    phase = PhaseOf(cell.area, cell.covered_ns, *thresholds_);
    mean = Cell::Quotient(cell.area, cell.covered_ns);
    totals.phase_ns[static_cast<std::size_t>(phase)] += cell.covered_ns * cell.count;
    totals.utilization.Merge(Integral{cell.covered_ns, cell.area}.Times(cell.count));
    FollowQuiet(cell, whole);
    if (cell.area != 0 || !whole) {
      EndZeros(totals);
    } else {
      FollowZeros(cell);
    }
    if (phase == Phase::kIdle) {
      const Context context = ContextOf(cell);
      held = context == Context::kHeld;
      AddIdle(cell, context, totals);
    }
  } else {
    EndZeros(totals);
    quiet_now_ = 0;
  }
  AddMeasured(cell, totals);
  AddThrottling(cell, max_sm_khz, phase, totals);
  const std::int64_t level = SpinLevel(cell, phase, totals);
  const bool busy = phase == Phase::kComputeBound && cell.covered_ns > 0;
  if (busy || dim_ns_ != 0) FollowDim(cell, busy && level != SpinWindow::kActive, totals);
  spin_.Push(level, cell.count, cell.covered_ns, mean, totals);
  AddTimeline(cell, phase, held, totals);
}

// Nothing that lasts over several cells goes on beyond this one.
void CellAccumulator::EndStreaks(DeviceTotals& totals) {
  ReleaseSuspects(totals);
  EndZeros(totals);
  quiet_now_ = 0;
  dim_.clear();
  dim_ns_ = 0;
}

// Cells on both sides of a gap are no neighbours, so a gap is pushed as cells that are never spin-wait.
void CellAccumulator::AddGap(std::int64_t ns, DeviceTotals& totals) {
  EndStreaks(totals);
  totals.unobserved_ns[static_cast<std::size_t>(Unobserved::kGap)] += ns;
  spin_.Push(SpinWindow::kNever, (ns + kNanosPerSecond - 1) / kNanosPerSecond, 0, 0, totals);
}

void CellAccumulator::Flush(DeviceTotals& totals) {
  EndStreaks(totals);
  // Of runs only those count that are long enough as a whole.
  std::erase_if(totals.zero_runs, [this](const ZeroRun& run) { return run.ns < thresholds_->idle_after.count(); });
  spin_.Flush(totals);
}

}  // namespace idleburn
