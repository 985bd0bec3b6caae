#pragma once

#include <vector>

#include "diagnose/finding.h"
#include "diagnose/make_finding.h"
#include "diagnose/scene.h"

namespace idleburn {

inline constexpr double kHealthyBusy = 0.9;
inline constexpr double kSmCompute = 80.0 * kPercent;  // necessary (not sufficient) for compute-bound

// What can be shown without a profiler: stalls behind one rank, start-up, idle stretches, spin-wait, throttling, what
// the host kept the GPUs waiting for, bursts, compute-bound. No two claim the same time. Never empty; the largest
// waste first (SortByLoss).
std::vector<Finding> FindCauses(const Scene& scene);
// The same of the waste that is left.
std::vector<Finding> FindCauses(const Scene& scene, WasteLeft waste);

// Time of blocks in which the GPU alternates between both extremes, in GPU-nanoseconds: starved, not two workloads.
std::int64_t BurstNs(const Scene& scene);

// Of one device: time in compute_bound without spin-wait, if a counter better than utilisation backs it (SM activity
// of 80 % or more while busy, or tensor activity where SM activity was not read, and then without the time at little
// power: a counter that was read is no work); else 0. No more than the time for which that counter is known.
// Nanoseconds.
std::int64_t BackedComputeNs(const DeviceResult& d);
// SM activity in the parts of the timeline that are mostly compute_bound, micro-percent: the time for which it is
// known, of `busy_ns`.
struct BusySm {
  Integral known;
  std::int64_t busy_ns = 0;

  // Absent if it is known for less than half of that time: a few readings say nothing of an hour.
  [[nodiscard]] std::optional<double> Mean() const;
};
BusySm BusySmOf(const DeviceTotals& totals);
std::optional<double> BusySmActivity(const DeviceTotals& totals);

}  // namespace idleburn
