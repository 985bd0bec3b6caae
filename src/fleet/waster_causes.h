#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <vector>

#include "base/result.h"
#include "fleet/fleet_report.h"
#include "fleet/job_signals.h"

// Why a job wastes GPU time, from what its agents counted: the rules of an audit over counters (docs/fleet-wasters.md).
// Pure functions of what was read.
namespace idleburn {

// What agents could tell of one job.
struct JobKnowledge {
  std::optional<SignalMs> signals;           // absent: no agent of the job counts signals
  std::array<bool, kJobSignalCount> told{};  // on all its nodes
  std::size_t nodes = 0;
  std::size_t silent_nodes = 0;  // their agents count no signals, or none yet when the window began
};

// The loss of a job in GPU-milliseconds, at least: time not busy by its bands (WasteOf), spin-wait, and lost clock.
// Signals beyond the time of their phases do not count: an agent's live counters may reach over an end of the window.
std::int64_t JobLossMs(const FleetTime& time, const SignalMs& signals);

// The job as a waster. A cause is part of it if its signal takes kMaterialShare of the job's observed time or more. The
// parts are disjoint. They name the cause if together they explain half of the loss or more.
Result<FleetWaster> JudgeWaster(const FleetOwner& job, const JobKnowledge& known);

// The ten jobs that lose most, by JobLossMs. It reads kRankingSignals only. The pointers are into the report.
std::vector<const FleetOwner*> WorstJobs(const JobSignals& signals, const FleetReport& report);

// Fills report->wasters with the ten jobs that lose most, and adds doubts about what was not read.
Result<void> FillWasters(const JobSignals& signals, FleetReport* report);

}  // namespace idleburn
