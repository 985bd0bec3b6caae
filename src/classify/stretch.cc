#include "classify/stretch.h"

#include <algorithm>

namespace idleburn {

Silence Silence::Of(const DeviceTotals& t) {
  Silence silence;
  silence.time = RunTime::Of(t);
  silence.idle_held_ns = t.idle_held_ns;
  silence.idle_empty_ns = t.idle_empty_ns;
  silence.idle_unknown_ns = t.idle_unknown_ns;
  silence.bound_with_activity_ns = t.bound_with_activity_ns;
  silence.bound_with_power_ns = t.bound_with_power_ns;
  for (std::size_t slot = 0; slot < kMeasured.size(); ++slot) {
    const Integral& mean = t.*kMeasuredMean[slot];
    if (mean.ns > 0) silence.held.push_back({slot, mean, t.range[slot].seconds});
  }
  return silence;
}

void Silence::AddTo(DeviceTotals* t) const {
  for (std::size_t i = 0; i < kPhaseCount; ++i) t->phase_ns[i] += time.phase_ns[i];
  for (std::size_t i = 0; i < kUnobservedCount; ++i) t->unobserved_ns[i] += time.unobserved_ns[i];
  t->idle_held_ns += idle_held_ns;
  t->idle_empty_ns += idle_empty_ns;
  t->idle_unknown_ns += idle_unknown_ns;
  t->bound_with_activity_ns += bound_with_activity_ns;
  t->bound_with_power_ns += bound_with_power_ns;
  for (const Held& signal : held) {
    (t->*kMeasuredMean[signal.slot]).Merge(signal.mean);
    t->range[signal.slot].seconds.Merge(signal.seconds);
  }
  t->energy_mj += energy_mj;
  t->energy_ns += energy_ns;
  t->energy_resets += energy_resets;
  t->energy_out_of_range += energy_out_of_range;
}

std::vector<RunSpan> RunsOf(const std::vector<std::vector<Stretch>>& stretches) {
  std::vector<const Stretch*> all;
  for (const std::vector<Stretch>& device : stretches) {
    for (const Stretch& stretch : device) all.push_back(&stretch);
  }
  std::sort(all.begin(), all.end(), [](const Stretch* a, const Stretch* b) { return a->first < b->first; });
  std::vector<RunSpan> runs;
  std::int64_t reach = 0;
  for (const Stretch* stretch : all) {
    const Instant first = Instant::FromNanos(stretch->first);
    const Instant last = Instant::FromNanos(stretch->last);
    if (runs.empty() || stretch->first > reach) {
      runs.push_back({first, last});
      reach = stretch->reach;
    }
    runs.back().end = std::max(runs.back().end, last);
    reach = std::max(reach, stretch->reach);
  }
  return runs;
}

void EnterRuns(const std::vector<Stretch>& stretches, const std::vector<RunSpan>& runs, DeviceResult* device) {
  const Silence* before = nullptr;
  for (const Stretch& stretch : stretches) {
    const Instant first = Instant::FromNanos(stretch.first);
    const auto next = std::upper_bound(runs.begin(), runs.end(), first,
                                       [](Instant time, const RunSpan& run) { return time < run.start; });
    const auto run = static_cast<std::size_t>(next - runs.begin()) - 1;
    if (device->runs.empty() || device->runs.back().run != run) {
      device->runs.push_back({run, first, first, {}});
    } else if (before != nullptr) {
      before->AddTo(&device->totals);
      device->runs.back().time.Merge(before->time);
    }
    device->runs.back().last = Instant::FromNanos(stretch.last);
    device->runs.back().time.Merge(stretch.time);
    before = &stretch.after;
  }
}

}  // namespace idleburn
