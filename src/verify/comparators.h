#pragma once

#include <optional>
#include <span>
#include <vector>

#include "verify/measured_run.h"
#include "verify/verdict.h"
#include "verify/within_run.h"

namespace idleburn {

// One side of `runs`: R = sum of GPU-seconds / sum of work. From three runs on its error is the larger of what the rows
// and what the runs say; of one or two runs only the rows speak. At least one run, each with work and GPU-seconds.
SideEstimate EstimateSide(std::span<const RunEstimate> runs);

// The relative variance of a row, summed up by its correlation time, and the time between rows: by how many more rows
// the error of a side shrinks. 0 without rows.
struct RowCost {
  double variance_of_one = 0;
  double seconds = 0;
  double rows = 0;
};
RowCost CostOfRows(const SideEstimate& side, std::span<const RunEstimate> runs);

// What jobs that nobody changed did over the same dates, as a change of ln R with its error.
struct UntouchedChange {
  ComparatorChange change;
  double log_ratio = 0;
  double variance = 0;
  double df = 1;
  // At least 3 runs a side, and parallel: then a difference to them needs no drift guard.
  bool usable = false;
};

// `baseline`: the runs before the change of the jobs that were changed, against which movement is held: between the
// halves of their baselines both must have moved alike. Absent if a side has no runs or nothing tells its error.
std::optional<UntouchedChange> ReadComparators(std::span<const MeasuredRun> untouched_before,
                                               std::span<const MeasuredRun> untouched_after,
                                               std::span<const MeasuredRun> baseline, double level);

}  // namespace idleburn
