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

template <std::size_t N>
std::int64_t Sum(const std::array<std::int64_t, N>& parts) {
  return std::accumulate(parts.begin(), parts.end(), std::int64_t{0});
}

}  // namespace

void WattHistogram::Add(std::int64_t watts, std::int64_t ns, std::int64_t utilization) {
  constexpr std::int64_t kMaxWatts = 20'000;  // far above any board; keeps a wrong reading from growing the table
  const auto bin = static_cast<std::size_t>(std::clamp<std::int64_t>(watts, 0, kMaxWatts));
  if (bins.size() <= bin) bins.resize(bin + 1);
  bins[bin].Add(ns, utilization);
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

std::int64_t TimelineBucket::ObservedNs() const { return Sum(phase_ns); }

void TimelineBucket::Merge(const TimelineBucket& o) {
  AddAll(phase_ns, o.phase_ns);
  utilization.Merge(o.utilization);
  power.Merge(o.power);
  sm_active.Merge(o.sm_active);
  held_ns += o.held_ns;
  throttled_ns += o.throttled_ns;
  busy_power.Merge(o.busy_power);
  memory_mib = std::max(memory_mib, o.memory_mib);  // an absent one is below all others
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

std::int64_t DeviceTotals::ObservedNs() const { return Sum(phase_ns); }

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

std::int64_t RunTime::UnobservedNs() const { return Sum(unobserved_ns); }

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

std::int64_t DeviceTotals::UnobservedNs() const { return Sum(unobserved_ns); }

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
