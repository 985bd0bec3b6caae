#pragma once

#include <span>
#include <vector>

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

}  // namespace idleburn
