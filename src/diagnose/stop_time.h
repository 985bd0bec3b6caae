#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "classify/totals.h"
#include "diagnose/scene.h"

namespace idleburn {

// Positions in RunResult::devices of GPUs that belong together. By their owners, where an input names any: GPUs that
// share a job or pod, directly or through others, at whatever time; one without an owner is alone. Otherwise every GPU
// that somebody uses is of one job, and one that nobody uses (TakesPart) is alone.
// Where two jobs share one GPU at different times, or a log without owners holds several jobs, they count as one:
// advice to stop is then lacking, never wrong.
std::vector<std::vector<std::size_t>> JobsOf(const Scene& scene);

// What a GPU was idle for that somebody could have used: runs in which all GPUs of its job were at exactly 0 % for
// Thresholds::idle_after or longer. Unobserved time ends a run.
struct StopTime {
  std::vector<ZeroRun> runs;  // of the job, in order of time
  bool peers_work = false;    // the GPU had such runs, but no run of its job is one
  std::size_t job = 0;        // how many GPUs the job has
};
// One for each device of the run, in its order.
std::vector<StopTime> FindStopTimes(const Scene& scene);

// Time of runs beyond Thresholds::idle_grace each. What lies in buckets that are `taken` belongs to another cause.
std::int64_t BeyondGrace(const Thresholds& thresholds, const StopTime& stop, const Timeline& timeline,
                         const std::vector<bool>& taken);

// Why no GPU of the run has such a run; empty where one does.
std::string WhyNoStop(const Scene& scene);

}  // namespace idleburn
