#pragma once

#include <optional>
#include <span>

#include "verify/verdict.h"
#include "verify/within_run.h"

namespace idleburn {

// A run in time, as the guard sees it.
struct DatedLog {
  double hours = 0;  // the middle of the run
  double log = 0;    // ln of GPU-seconds over what the baseline expects for the work
  bool after = false;
};

// Fits a trend common to both sides and a step between them: a change that is only the trend leaves no step. Over runs,
// at least 3 a side. Absent where trend and step cannot be told apart, or the runs are too few.
std::optional<DriftGuard> GuardOverRuns(std::span<const DatedLog> runs, double level);

// The same over the summed rows of few runs; its error by the correlation time of what is left over. To be reported,
// never to be relied on.
std::optional<DriftGuard> GuardOverRows(std::span<const RunEstimate> before, std::span<const RunEstimate> after,
                                        double level);

// Whether the step is of the sign of the saving, and not 0.
bool OnTheSideOf(const DriftGuard& guard, double fraction);

}  // namespace idleburn
