#pragma once

#include <optional>
#include <span>
#include <vector>

#include "verify/judge.h"
#include "verify/measured_run.h"
#include "verify/verdict.h"
#include "verify/within_run.h"

namespace idleburn {
// Whether both sides have GPU-seconds per unit of work: at least one run each, and work and GPU time in every run.
// Without that, nothing else may be computed.
bool HasRatios(const Comparison& comparison);
// Why the comparison is INVALID, and what is unknown about it (docs/verification.md, "Reasons"): work and units, static
// factors, observed share, overlap in time, and the doubts of each run. All reasons are returned, not only the first.
std::vector<VerdictReason> ComparableReasons(const Comparison& comparison, RunLayout layout);

// The readings of a side's continuous telemetry, repeated ones counted once. Absent if no run has telemetry.
std::optional<std::int64_t> TelemetryRows(std::span<const MeasuredRun> runs);

// Estimates one side: R = sum of GPU-seconds / sum of work. With three or more runs, its error is the larger of what
// rows say within runs and what runs say between them; with one or two, only rows can say anything
// (docs/verification.md, "The interval"). There must be at least one run, each with work and GPU-seconds.
SideEstimate EstimateSide(std::span<const RunEstimate> runs);

// What more rows would bring, for the advice how much longer to measure: the relative variance of a single row,
// correlation included, and the seconds between rows. All 0 if a run has no rows.
struct RowCost {
  double variance_of_one = 0;
  double seconds = 0;
  double rows = 0;
};
RowCost CostOfRows(const SideEstimate& side, std::span<const RunEstimate> runs);

// What jobs that nobody changed did over the same dates, as a change of ln R with its error. Prices, drivers or data
// may have changed for all jobs; this shows by how much.
struct UntouchedChange {
  ComparatorChange change;
  double log_ratio = 0;
  double variance = 0;
  double df = 1;
  // At least 3 runs a side, and parallel to the baseline. The difference to them then needs no drift guard.
  bool usable = false;
};

// `baseline` holds the runs before the change of the changed jobs. Untouched jobs are usable only if both groups
// moved alike between the halves of their baselines: jobs that drift apart before the change do so after it too.
// Absent if a side has no runs, or if nothing tells its error.
std::optional<UntouchedChange> ReadComparators(std::span<const MeasuredRun> untouched_before,
                                               std::span<const MeasuredRun> untouched_after,
                                               std::span<const MeasuredRun> baseline, double level);

}  // namespace idleburn
