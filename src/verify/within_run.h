#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "stats/mean.h"
#include "verify/measured_run.h"

namespace idleburn {

// How sure the rows of one run are of its ratio R = GPU-seconds / work (docs/verification.md). What differs from
// run to run cannot be seen in them.
struct RowsEstimate {
  double variance = 0;  // e^2, relative to R^2
  double df = 0;
  double tau = 1;  // of the rows as summed
  double n_eff = 0;
  std::vector<WorkPiece> summed;  // the rows that this rests on
  double seconds_between_rows = 0;
};

// A run as one side takes it in.
struct RunEstimate {
  double gpu_seconds = 0;
  double work = 0;
  std::int64_t rows = 0;                      // as read, repeated readings merged
  std::optional<RowsEstimate> rows_estimate;  // absent: fewer than two rows, or no work in them
  [[nodiscard]] double Ratio() const { return gpu_seconds / work; }
};
RunEstimate EstimateRun(const MeasuredRun& run);

// What the ratio of each row leaves over, relative to R: (g - R w) / (R * mean w). Mean 0; takes varying work a row.
std::vector<double> RatioResiduals(const WorkPiece& rows, double ratio);

}  // namespace idleburn
