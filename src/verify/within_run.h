#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "stats/mean.h"
#include "stats/random.h"
#include "verify/measured_run.h"
#include "verify/verdict.h"

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

// The saving again, by resampling blocks of rows within their runs: it assumes no shape of the noise, and sees only
// what rows show. The savings of all resamples in ascending order, of which an interval takes its quantiles; empty
// where a run has no rows. Blocks of 2 x the larger tau, at most an eighth of a run.
std::vector<double> BootstrapSavings(std::span<const RunEstimate> before, std::span<const RunEstimate> after,
                                     double tau, int resamples, Random& random);

SavingInterval QuantileInterval(std::span<const double> ascending, double fraction, double level);

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
