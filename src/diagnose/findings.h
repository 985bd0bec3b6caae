// Finds all causes of a run. Causes that need several steps have files of their own (idle_time.h, stalls.h,
// live_causes.h, work_evidence.h); the others are here.

#pragma once

#include <string_view>
#include <vector>

#include "diagnose/cause_table.h"
#include "diagnose/make_finding.h"
#include "diagnose/scene.h"

namespace idleburn {

// A run with at least this mean utilization may be healthy, as may a traced window that is busy for as large a part.
inline constexpr double kHealthyBusy = 0.9;
inline constexpr double kSmCompute = 80.0 * kPercent;  // necessary, not sufficient, for compute-bound

// Finds what samples alone can show: stalls behind one rank, start-up, idle stretches, spin-wait, throttling, a
// slow host, bursts and compute-bound time. No two findings claim the same time. Never empty; the largest waste
// comes first (SortByLoss).
std::vector<Finding> FindCauses(const Scene& scene);
// The same for the waste that is left when a trace has claimed its part.
std::vector<Finding> FindCauses(const Scene& scene, WasteLeft waste);

// GPU-nanoseconds in which the GPU alternates between idle and busy within seconds. This is one starved job,
// not two workloads.
std::int64_t BurstNs(const Scene& scene);

// Time of a device in compute_bound, without spin-wait, if a better counter than utilization confirms it; else
// 0. The counter is SM activity of 80 % or more while busy. If SM activity was not read, any tensor activity
// counts, without the time at low power. The result is at most the time for which that counter is known.
// Nanoseconds.
std::int64_t BackedComputeNs(const DeviceResult& d);
// SM activity in micro-percent, over the parts of the timeline that are mostly compute_bound. `known` covers
// the part of `busy_ns` for which it was read.
struct BusySm {
  Integral known;
  std::int64_t busy_ns = 0;

  // Absent if less than half of that time is known: a few readings do not represent an hour.
  [[nodiscard]] std::optional<double> Mean() const;
};
// SM activity of a device while busy, and its mean.
BusySm ReadBusySm(const DeviceTotals& totals);
std::optional<double> BusySmActivity(const DeviceTotals& totals);

// Every cause that the samples of a run, its traces, or both show, the largest share of the run first. Never
// empty. A cause that both show is confirmed, because they are independent. The share and money of a cause that
// only a trace shows refer to the traced window. Its bound is small if that window is a small part of the run.
std::vector<Finding> Diagnose(const Scene& scene);

// How to record a run again, or more of it, with the tool that made its log. Users should not need another
// tool.
struct ReadAgain {
  // The source in the names of its counters: "nvidia_smi"; empty for any other.
  std::string_view source;
  std::string_view longer;  // records time and not an instant
  // Records whether a process holds a GPU.
  std::string_view holders;
};
// The row for the source of this run.
const ReadAgain& HowToRead(const Scene& scene);

}  // namespace idleburn
