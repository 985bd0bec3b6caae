#include "agent/second_meter.h"

#include <algorithm>
#include <bit>

#include "classify/cause_limits.h"

namespace idleburn {
namespace {

constexpr std::int64_t kNsPerMs = 1'000'000;
// The longest time that one reading of the busy counter speaks for: 2.5 intervals, and at most 2.5 s.
constexpr std::int64_t kLongestHold = 2'500 * kNsPerMs;
// Gauges older than this are not shown.
constexpr std::int64_t kFreshNs = 10 * kNanosPerSecond;

// Every signal beside the counter is held for the same time. The agent reads memory each second and processes every
// five, so the usual hold of slow signals fits all.
Cadence AgentCadence(const Thresholds& thresholds) {
  Cadence cadence;
  cadence.counter = Signal::kGrEngineActive;
  cadence.hold.fill(thresholds.side_hold.count());
  return cadence;
}

Thresholds WithoutIdlePower(Thresholds thresholds) {
  thresholds.idle_power.reset();
  return thresholds;
}

std::int64_t MsOf(std::int64_t ns) { return ns / kNsPerMs; }

}  // namespace

SecondMeter::SecondMeter(const Thresholds& thresholds)
    : thresholds_(WithoutIdlePower(thresholds)),
      idle_power_(thresholds.idle_power),
      cadence_(AgentCadence(thresholds)),
      open_(true),
      cells_(thresholds_, false) {}

void SecondMeter::Feed(const Sample& sample, std::int64_t utc_ns) {
  const std::int64_t second = FloorSecond(utc_ns);
  if (second <= closed_ || (open_.open() && (second + 1) * kNanosPerSecond < open_.end())) {
    ++late_samples_;
    return;
  }
  if (open_.open() && utc_ns >= open_.end()) EndOpen();
  if (!open_.open()) open_.Begin((second + 1) * kNanosPerSecond);
  if (sample.present != 0) newest_value_ns_ = utc_ns;
  // Engine activity decides until utilization is read, as in an audit.
  if (sample.Has(Signal::kUtilization)) cadence_.counter = Signal::kUtilization;
  const Signal counter = *cadence_.counter;
  cells_.set_by_engine(counter == Signal::kGrEngineActive);
  for (std::uint32_t bits = sample.present; bits != 0; bits &= bits - 1) {
    const auto i = static_cast<std::size_t>(std::countr_zero(bits));
    const std::int64_t value = sample.value[i];
    last_[i] = {value, utc_ns};
    if ((AveragedMask() >> i & 1) != 0) open_.AddSide(kMeasuredSlot[i], value);
  }
  last_.Forget(sample.unavailable);
  if (sample.Has(Signal::kEventReasons)) open_.CountReasons(sample.Get(Signal::kEventReasons), 1);
  if (sample.Has(Signal::kEnergy)) TakeEnergy(sample.Get(Signal::kEnergy));
  if (sample.Has(counter)) {
    open_.AddCounter(sample.Get(counter));
    if (last_counter_ns_ != INT64_MIN) counter_interval_ns_ = utc_ns - last_counter_ns_;
    last_counter_ns_ = utc_ns;
    last_counter_ = sample.Get(counter);
    said_.reset();
  } else if (sample.Lacks(counter)) {
    open_.Lacks(sample.reason);
    said_ = sample.reason;
  }
}

// A counter that steps back was reset: the driver was loaded again.
void SecondMeter::TakeEnergy(std::int64_t millijoules) {
  if (energy_ && millijoules > *energy_) energy_rise_ += millijoules - *energy_;
  energy_ = millijoules;
}

void SecondMeter::EndOpen() {
  ready_.push_back(open_.Mean(kNanosPerSecond, last_, cadence_));
  open_.Forget();
  open_.Leave();
}

// The cell of a second; one without readings if there was no sample.
Cell SecondMeter::CellOf(std::int64_t second) {
  if (open_.open() && open_.end() <= (second + 1) * kNanosPerSecond) EndOpen();
  while (!ready_.empty() && ready_.front().second < second) ready_.pop_front();
  Cell cell;
  cell.second = second;
  if (!ready_.empty() && ready_.front().second == second) {
    cell = ready_.front();
    ready_.pop_front();
  }
  return cell;
}

// Holds the last reading into a second without one. What it does not cover is unobserved.
void SecondMeter::HoldLast(Cell& cell) const {
  cell.unobserved_ns = {};
  if (last_counter_ns_ != INT64_MIN && !said_ && !gone_) {
    const std::int64_t hold = std::min(counter_interval_ns_ * 5 / 2, kLongestHold);
    const std::int64_t covered = last_counter_ns_ + hold - cell.second * kNanosPerSecond;
    cell.covered_ns = std::clamp<std::int64_t>(covered / kNsPerMs * kNsPerMs, 0, kNanosPerSecond);
    cell.area = cell.covered_ns * last_counter_;
  }
  cell.unobserved_ns[static_cast<std::size_t>(said_.value_or(Unobserved::kGap))] = kNanosPerSecond - cell.covered_ns;
}

void SecondMeter::WatchBrokenCounter(Cell& cell) {
  const std::int64_t power = cell.Mean(Signal::kPower);
  const std::optional<std::int64_t> limit = last_.Known(Signal::kPowerLimit);
  Thresholds told = thresholds_;
  told.idle_power = idle_power_;
  const bool suspect =
      cell.covered_ns > 0 && cell.area == 0 && power != Cell::kAbsent && told.DrawsBeyondIdle(power, limit);
  suspect_seconds_ = suspect ? suspect_seconds_ + 1 : 0;
  if (suspect_seconds_ * kNanosPerSecond < thresholds_.stuck_after.count()) return;
  cell.unobserved_ns[static_cast<std::size_t>(Unobserved::kInvalidCounter)] += cell.covered_ns;
  cell.covered_ns = 0;
}

// What the board draws idle: as the user said, else from its own long idle stretches; absent: not known yet.
std::optional<std::int64_t> SecondMeter::IdlePower() const {
  if (idle_power_) return idle_power_;
  if (idle_watts_.TotalNs() < thresholds_.idle_power_least.count()) return std::nullopt;
  const std::optional<std::int64_t> watts = idle_watts_.Percentile(thresholds_.idle_power_percentile);
  const std::optional<std::int64_t> limit = last_.Known(Signal::kPowerLimit);
  if (!watts || !limit || *watts * 1000 > thresholds_.MostIdlePower(*limit)) return std::nullopt;
  return *watts * 1000;
}

void SecondMeter::CreditSpin(const DeviceTotals& rise, GpuSecond& out) {
  for (const WattHistogram* idle : {&rise.idle_power_held, &rise.idle_power_empty}) {
    for (std::size_t watts = 0; watts < idle->bins.size(); ++watts) {
      if (idle->bins[watts].ns > 0) idle_watts_.Add(static_cast<std::int64_t>(watts), idle->bins[watts].ns, 0);
    }
  }
  std::int64_t spin_ns = rise.spin_by_activity.ns;
  if (rise.spin_by_power.TotalNs() > 0) {
    const std::optional<std::int64_t> idle = IdlePower();
    const std::optional<std::int64_t> limit = last_.Known(Signal::kPowerLimit);
    if (idle && limit && *limit > *idle)
      spin_ns += rise.spin_by_power.Below((thresholds_.SpinPowerBelow(*idle, *limit) + 999) / 1000).ns;
  }
  out.spin_ms = MsOf(spin_ns);
}

// Spin-wait settles a few seconds later (SpinWindow). Slowing waits for it, so that no second counts as both.
void SecondMeter::CreditSlowing(const Cell& cell, const DeviceTotals& rise, GpuSecond& out) {
  Slowing now;
  now.slowed_ms = std::min(MsOf(rise.slowdown_with_loss_ns + rise.power_cap_with_loss_ns), MsOf(cell.covered_ns));
  const std::int64_t most = last_.Known(Signal::kMaxSmClock).value_or(0);
  const std::int64_t clock = cell.Mean(Signal::kSmClock);
  if (now.slowed_ms > 0 && most > clock && clock != Cell::kAbsent) {
    const double busy = static_cast<double>(Cell::Quotient(cell.area, cell.covered_ns)) / static_cast<double>(kFull);
    const double loss = static_cast<double>(most - clock) / static_cast<double>(most);
    now.lost_ms = static_cast<std::int64_t>(static_cast<double>(now.slowed_ms) * busy * loss);
  }
  slowing_.push_back(now);
  if (static_cast<std::int64_t>(slowing_.size()) < std::max<std::int64_t>(thresholds_.spin_cells, 1)) return;
  const Slowing settled = slowing_.front();
  slowing_.pop_front();
  if (out.spin_ms > 0) return;
  out.slowed_ms = settled.slowed_ms;
  out.clock_lost_ms = settled.lost_ms;
}

bool SecondMeter::CanTell(JobSignal signal, std::int64_t utc_ns) const {
  const auto read = [&](Signal each) { return Latest(each, utc_ns).has_value(); };
  switch (signal) {
    case JobSignal::kIdleHeld:
    case JobSignal::kIdleEmpty:
      return read(Signal::kProcesses) || read(Signal::kMemoryUsed);
    case JobSignal::kSpinWait:
      return read(Signal::kSmActive) || (read(Signal::kPower) && IdlePower() && last_.Known(Signal::kPowerLimit));
    case JobSignal::kThrottled:
    case JobSignal::kClockLost:
      return read(Signal::kEventReasons) && read(Signal::kSmClock) && last_.Known(Signal::kMaxSmClock);
    case JobSignal::kPcieFull:
      return link_speed_ > 0 && read(Signal::kPcieRx);
    case JobSignal::kIdleUnknown:
    case JobSignal::kNodeCpuPressure:
    case JobSignal::kNodeIoPressure:
    case JobSignal::kSharedGpu:
      return true;
  }
  return false;
}

GpuSecond SecondMeter::Close(std::int64_t second) {
  Cell cell = CellOf(second);
  closed_ = second;
  if (cell.covered_ns == 0) HoldLast(cell);
  WatchBrokenCounter(cell);
  const bool gone = gone_ && cell.covered_ns == 0;

  DeviceTotals rise;
  const std::optional<std::int64_t> limit = last_.Known(Signal::kPowerLimit);
  const std::optional<std::int64_t> usual_limit = last_.Known(Signal::kPowerDefaultLimit);
  cells_.set_lowered(limit && usual_limit && *limit < *usual_limit);
  cells_.Add(cell, last_.Known(Signal::kMaxSmClock).value_or(0), rise);
  GpuSecond out;
  for (std::size_t i = 0; i < kPhaseCount; ++i) out.phase_ms[i] = MsOf(rise.phase_ns[i]);
  for (std::size_t i = 0; i < kUnobservedCount; ++i)
    out.reason_ms[gone ? kDriverGone : i] += MsOf(rise.unobserved_ns[i]);
  for (const std::int64_t ms : out.reason_ms) out.phase_ms[kUnobservedPhase] += ms;
  out.idle_ms = {MsOf(rise.idle_held_ns), MsOf(rise.idle_empty_ns), MsOf(rise.idle_unknown_ns)};
  for (std::size_t i = 0; i < kEventReasonCount; ++i) out.throttled_ms[i] = MsOf(rise.reason_ns[i]);
  if (cell.covered_ns > 0) {
    const std::int64_t mean = Cell::Quotient(cell.area, cell.covered_ns);
    out.decile = static_cast<std::size_t>(std::clamp<std::int64_t>(mean / (10 * kPercent), 0, kDecileCount - 1));
    out.busy_us = static_cast<std::int64_t>(static_cast<Int128>(mean) * cell.covered_ns / kFull / 1000);
  }
  out.energy_counter_mj = std::exchange(energy_rise_, 0);
  if (const std::int64_t power = cell.Mean(Signal::kPower); power != Cell::kAbsent) out.energy_power_mj = power;
  constexpr std::array<Signal, kLinkFlowCount> kFlows = {Signal::kPcieRx, Signal::kPcieTx, Signal::kNvlink};
  for (std::size_t i = 0; i < kLinkFlowCount; ++i) {
    if (const std::int64_t rate = cell.Mean(kFlows[i]); rate != Cell::kAbsent) out.link_bytes[i] = rate;
  }
  const std::int64_t received = cell.Mean(Signal::kPcieRx);
  out.link_full = link_speed_ > 0 && received != Cell::kAbsent &&
                  static_cast<double>(received) >= kLinkFull * static_cast<double>(link_speed_);
  CreditSpin(rise, out);
  CreditSlowing(cell, rise, out);
  return out;
}

std::optional<std::int64_t> SecondMeter::Latest(Signal signal, std::int64_t utc_ns) const {
  if (!last_.Holds(Index(signal), utc_ns, kFreshNs)) return std::nullopt;
  return last_[Index(signal)].value;
}

}  // namespace idleburn
