#include "diagnose/traced_run.h"

#include <algorithm>

#include "profile/trace_reader.h"

namespace idleburn {
namespace {

constexpr std::size_t kIdle = static_cast<std::size_t>(Phase::kIdle);
constexpr std::size_t kUnderutilized = static_cast<std::size_t>(Phase::kUnderutilized);
constexpr std::size_t kProductive = static_cast<std::size_t>(Phase::kProductive);

// What to add to a profile's stamps so that they are dates; a profile without dates begins at 0.
std::int64_t ToWall(const Profile& profile, std::int64_t first, DataQuality& quality) {
  const std::int64_t base = profile.wall_base_ns.value_or(0);
  if (IsWallClock(first + base)) return base;
  quality.Count(QualityId::kNoTimestamp, {&profile.file, 0});
  return -first;
}

// A rank that several files claim says nothing of which device it is; their names do.
DeviceKey KeyOf(std::span<const Profile> profiles, const DeviceDiagnosis& d) {
  const Profile& profile = profiles[d.profile];
  const auto same =
      std::count_if(profiles.begin(), profiles.end(), [&](const Profile& other) { return other.rank == profile.rank; });
  DeviceKey key;
  key.index = static_cast<int>(d.device);
  key.name = d.model;
  if (profiles.size() > 1)
    key.host = profile.rank && same == 1 ? "rank " + std::to_string(*profile.rank) : profile.file;
  return key;
}

DeviceTotals TotalsOf(const TraceBudget& budget) {
  DeviceTotals totals;
  totals.phase_ns[kIdle] = budget.idle_ns;
  totals.phase_ns[kUnderutilized] = budget.exposed_comm_ns + budget.exposed_copy_ns;
  totals.phase_ns[kProductive] = budget.compute_ns;
  totals.idle_held_ns = budget.idle_ns;
  totals.utilization.Add(budget.compute_ns, kFull);
  totals.utilization.Add(budget.span.Ns() - budget.compute_ns, 0);
  return totals;
}

}  // namespace

RunResult TracedRun(std::span<const Profile> profiles, const TraceDiagnosis& diagnosis, DeviceTable& devices,
                    DataQuality& quality) {
  RunResult run;
  for (const DeviceDiagnosis& d : diagnosis.devices) {
    const Profile& profile = profiles[d.profile];
    const Interval span = d.Deciding().span;
    const std::int64_t to_wall = ToWall(profile, span.start, quality);
    DeviceResult result;
    result.device = devices.Enter(KeyOf(profiles, d));
    devices.NameCounter(result.device, Signal::kUtilization, profile.counter);
    result.counter = Signal::kUtilization;
    result.first = Instant::FromNanos(span.start + to_wall);
    result.last = Instant::FromNanos(span.end + to_wall);
    result.totals = TotalsOf(d.Deciding());
    run.start = run.devices.empty() ? result.first : std::min(run.start, result.first);
    run.end = run.devices.empty() ? result.last : std::max(run.end, result.last);
    run.devices.push_back(std::move(result));
  }
  std::sort(run.devices.begin(), run.devices.end(),
            [](const DeviceResult& a, const DeviceResult& b) { return a.device < b.device; });
  return run;
}

}  // namespace idleburn
