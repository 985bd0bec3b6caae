#pragma once

#include <span>
#include <vector>

#include "verify/judge.h"
#include "verify/verdict.h"

namespace idleburn {

// Whether both sides have GPU-seconds per unit of work at all: at least one run each, and work and GPU time in every
// run. Without that, nothing else may be computed.
bool HasRatios(const Comparison& comparison);
// What makes the comparison INVALID, and what is not known of it (docs/verification.md, "Reasons"): work and units,
// static factors, observed share, overlap in time, and the doubts of each run.
std::vector<VerdictReason> ComparableReasons(const Comparison& comparison, RunLayout layout);

// The readings of a side's continuous telemetry, repeated ones counted once. Absent if no run has telemetry.
std::optional<std::int64_t> TelemetryRows(std::span<const MeasuredRun> runs);

}  // namespace idleburn
