#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "classify/job_signal.h"
#include "fleet/closed_hours.h"
#include "fleet/engine.h"

// Reads what agents counted of jobs besides their phases: idleburn_job_signal_seconds_total (docs/agent.md).
//
// These counters are live and not closed. A job keeps its last value for three scrapes after its end, so the last value
// in a window less the value at its start is right to about a scrape. Bills never read them.
namespace idleburn {

// The signals that are part of a job's loss beyond its bands: spin-wait and lost clock, and what bounds the latter.
inline constexpr auto kRankingSignals =
    std::to_array<JobSignal>({JobSignal::kSpinWait, JobSignal::kThrottled, JobSignal::kClockLost});

// GPU-milliseconds by JobSignal.
using SignalMs = std::array<std::int64_t, kJobSignalCount>;

struct JobSignals {
  std::map<JobKey, SignalMs> jobs;  // summed over nodes
  // By node: the signals that its agent could tell at some time. An agent that counts none is not in the map.
  std::map<std::string, std::array<bool, kJobSignalCount>> known;
  // Nodes of `known` whose agent counted no signals yet when the window began, although it ran.
  std::set<std::string> late;
  std::vector<std::string> missing;  // parts of the window that the engine did not answer, and why
  bool start_known = true;  // false: what jobs had before the window could not be read, and counts as of the window
};

// Reads the window [from, to), Unix seconds, day by day: of all jobs only the signals that rank wasters
// (fleet/waster_causes.h). A day that is too much for the engine is asked for in halves, down to an hour. Of several
// replicas the larger value counts. A counter that stepped back began at zero.
JobSignals ReadRankingSignals(Engine& engine, std::int64_t from, std::int64_t to);

// Reads all signals of jobs with these names, and puts them into `signals`. Few jobs waste much, and a cluster has tens
// of thousands.
void ReadSignalsOf(Engine& engine, std::int64_t from, std::int64_t to, const std::vector<std::string>& names,
                   JobSignals* signals);

}  // namespace idleburn
