#pragma once

#include <span>
#include <vector>

#include "verify/judge.h"
#include "verify/verdict.h"

namespace idleburn {

// Whether both sides can be put into one ratio at all: what makes the comparison INVALID, and what is not known of it.
// Without a count of work on every run there is no ratio, and nothing else may be computed.
bool HasRatios(const Comparison& comparison);
std::vector<VerdictReason> ComparableReasons(const Comparison& comparison, RunLayout layout);

// True readings of a side's continuous telemetry; absent if it has none.
std::optional<std::int64_t> TelemetryRows(std::span<const MeasuredRun> runs);

}  // namespace idleburn
