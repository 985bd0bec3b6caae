#pragma once

#include <optional>
#include <span>

#include "verify/measured_run.h"
#include "verify/verdict.h"
#include "verify/within_run.h"

namespace idleburn {

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
