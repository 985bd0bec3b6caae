#include "classify/totals.h"

#include <algorithm>
#include <numeric>
#include <utility>

namespace idleburn {
namespace {

template <typename T, std::size_t N>
void AddAll(std::array<T, N>& into, const std::array<T, N>& from) {
  for (std::size_t i = 0; i < N; ++i) into[i] += from[i];
}

// Runs of two stretches of time; what was cut where they meet is one run again.
void MergeRuns(const std::vector<ZeroRun>& from, std::vector<ZeroRun>& into) {
  into.insert(into.end(), from.begin(), from.end());
  std::sort(into.begin(), into.end(), [](const ZeroRun& a, const ZeroRun& b) { return a.from < b.from; });
  std::vector<ZeroRun> joined;
  for (const ZeroRun& run : into) {
    if (!joined.empty() && joined.back().to() == run.from) {
      joined.back().ns += run.ns;
    } else {
      joined.push_back(run);
    }
  }
  into = std::move(joined);
}

}  // namespace

void WattHistogram::Add(std::int64_t watts, std::int64_t ns, std::int64_t utilization) {
  constexpr std::int64_t kMaxWatts = 20'000;  // far above any board; keeps a wrong reading from growing the table
  const auto bin = static_cast<std::size_t>(std::clamp<std::int64_t>(watts, 0, kMaxWatts));
  if (bins.size() <= bin) bins.resize(bin + 1);
  bins[bin].Add(ns, utilization);
}

void WattHistogram::Merge(const WattHistogram& o) {
  if (bins.size() < o.bins.size()) bins.resize(o.bins.size());
  for (std::size_t i = 0; i < o.bins.size(); ++i) bins[i].Merge(o.bins[i]);
}

Integral WattHistogram::Below(std::int64_t watts) const {
  Integral sum;
  for (std::size_t i = 0; i < bins.size() && static_cast<std::int64_t>(i) < watts; ++i) sum.Merge(bins[i]);
  return sum;
}

std::int64_t WattHistogram::TotalNs() const {
  return std::accumulate(bins.begin(), bins.end(), std::int64_t{0},
                         [](std::int64_t sum, const Integral& bin) { return sum + bin.ns; });
}

std::optional<std::int64_t> WattHistogram::Percentile(std::int64_t percent) const {
  const Int128 total = TotalNs();
  if (total == 0) return std::nullopt;
  Int128 seen = 0;
  for (std::size_t i = 0; i < bins.size(); ++i) {
    seen += bins[i].ns;
    if (seen * 100 >= total * percent) return static_cast<std::int64_t>(i);
  }
  return std::nullopt;
}

std::int64_t TimelineBucket::ObservedNs() const {
  return std::accumulate(phase_ns.begin(), phase_ns.end(), std::int64_t{0});
}

void TimelineBucket::Merge(const TimelineBucket& o) {
  AddAll(phase_ns, o.phase_ns);
  utilization.Merge(o.utilization);
  power.Merge(o.power);
  sm_active.Merge(o.sm_active);
  held_ns += o.held_ns;
  throttled_ns += o.throttled_ns;
  busy_power.Merge(o.busy_power);
}

void DeviceTotals::Merge(const DeviceTotals& o) {
  AddAll(phase_ns, o.phase_ns);
  AddAll(unobserved_ns, o.unobserved_ns);
  idle_held_ns += o.idle_held_ns;
  idle_empty_ns += o.idle_empty_ns;
  idle_unknown_ns += o.idle_unknown_ns;
  bound_with_activity_ns += o.bound_with_activity_ns;
  bound_with_power_ns += o.bound_with_power_ns;
  spin_by_activity.Merge(o.spin_by_activity);
  spin_by_power.Merge(o.spin_by_power);
  dim_by_power.Merge(o.dim_by_power);
  idle_power_held.Merge(o.idle_power_held);
  idle_power_empty.Merge(o.idle_power_empty);
  MergeRuns(o.zero_runs, zero_runs);
  throttled_ns += o.throttled_ns;
  slowdown_with_loss_ns += o.slowdown_with_loss_ns;
  power_cap_with_loss_ns += o.power_cap_with_loss_ns;
  throttled_told_ns += o.throttled_told_ns;
  throttled_untold_ns += o.throttled_untold_ns;
  reasons_ns += o.reasons_ns;
  AddAll(reason_ns, o.reason_ns);
  busy_clock.Merge(o.busy_clock);
  throttled_clock.Merge(o.throttled_clock);
  energy_mj += o.energy_mj;
  energy_resets += o.energy_resets;
  energy_out_of_range += o.energy_out_of_range;
  energy_ns += o.energy_ns;
  has_energy_counter = has_energy_counter || o.has_energy_counter;
  AddAll(ticks, o.ticks);
  tick_sum += o.tick_sum;
  tick_squares += o.tick_squares;
  burst.Merge(o.burst);
  nvlink_readings.Merge(o.nvlink_readings);
  for (const auto mean : kMeasuredMean) (this->*mean).Merge(o.*mean);
  for (std::size_t i = 0; i < range.size(); ++i) range[i].Merge(o.range[i]);
  memory_total = std::max(memory_total, o.memory_total);
  profiling_stuck = profiling_stuck || o.profiling_stuck;
  utilization_stuck = utilization_stuck || o.utilization_stuck;
  samples += o.samples;
  duplicates += o.duplicates;
  differing += o.differing;
  out_of_order += o.out_of_order;
  clock_steps += o.clock_steps;
  timeline.Merge(o.timeline);
}

void DeviceTotals::ForgetProfiling(std::optional<Signal> busy_counter) {
  for (const Signal s : {Signal::kSmActive, Signal::kTensorActive, Signal::kDramActive, Signal::kGrEngineActive}) {
    if (s == busy_counter) continue;
    this->*kMeasuredMean[Slot(s)] = Integral();
    range[Slot(s)] = SignalRange();
  }
  spin_by_activity = Integral();
  bound_with_activity_ns = 0;
  for (TimelineBucket& bucket : timeline.buckets) bucket.sm_active = Integral();
}

std::int64_t SpinVerdict::ToldNs(const DeviceTotals& totals) const {
  if (below_watts) return totals.bound_with_activity_ns + totals.bound_with_power_ns;
  if (!work_from_watts) return totals.bound_with_activity_ns;
  return totals.bound_with_activity_ns + totals.bound_with_power_ns - totals.spin_by_power.Below(*work_from_watts).ns;
}

std::int64_t DeviceTotals::ObservedNs() const {
  return std::accumulate(phase_ns.begin(), phase_ns.end(), std::int64_t{0});
}

RunTime RunTime::Of(const DeviceTotals& totals) { return {totals.phase_ns, totals.unobserved_ns, totals.utilization}; }

void RunTime::Merge(const RunTime& o) {
  AddAll(phase_ns, o.phase_ns);
  AddAll(unobserved_ns, o.unobserved_ns);
  utilization.Merge(o.utilization);
}

RunTime RunTime::Less(const RunTime& part) const {
  RunTime rest = *this;
  for (std::size_t i = 0; i < kPhaseCount; ++i) rest.phase_ns[i] -= part.phase_ns[i];
  for (std::size_t i = 0; i < kUnobservedCount; ++i) rest.unobserved_ns[i] -= part.unobserved_ns[i];
  rest.utilization.ns -= part.utilization.ns;
  rest.utilization.area -= part.utilization.area;
  return rest;
}

std::int64_t RunTime::ObservedNs() const { return std::accumulate(phase_ns.begin(), phase_ns.end(), std::int64_t{0}); }

std::int64_t RunTime::UnobservedNs() const {
  return std::accumulate(unobserved_ns.begin(), unobserved_ns.end(), std::int64_t{0});
}

std::int64_t RunResult::RecordedNs(Instant from, Instant to) const {
  if (runs.empty()) return std::max<std::int64_t>(0, (to - from).count());
  std::int64_t sum = 0;
  for (const RunSpan& run : runs) {
    sum += std::max<std::int64_t>(0, (std::min(run.end, to) - std::max(run.start, from)).count());
  }
  return sum;
}

const DeviceResult* RunResult::Of(DeviceId device) const {
  const auto found = std::lower_bound(devices.begin(), devices.end(), device,
                                      [](const DeviceResult& d, DeviceId id) { return d.device < id; });
  return found == devices.end() || found->device != device ? nullptr : &*found;
}

std::optional<double> DeviceTotals::RowsPerStamp() const {
  constexpr std::int64_t kStampsPerRepeat = 20;
  if (differing == 0 || duplicates * kStampsPerRepeat < samples) return std::nullopt;
  return static_cast<double>(samples + duplicates) / static_cast<double>(samples);
}

std::int64_t DeviceTotals::UnobservedNs() const {
  return std::accumulate(unobserved_ns.begin(), unobserved_ns.end(), std::int64_t{0});
}

std::vector<DeviceId> RunResult::LeaveOut(std::span<const DeviceId> ids) {
  std::vector<DeviceId> moved;
  for (const DeviceId id : ids) {
    LeftOut& out = left_out.emplace_back(LeftOut{id, std::nullopt});
    const auto found =
        std::find_if(devices.begin(), devices.end(), [id](const DeviceResult& result) { return result.device == id; });
    if (found == devices.end()) continue;
    out.result = std::move(*found);
    devices.erase(found);
    moved.push_back(id);
  }
  return moved;
}

}  // namespace idleburn
