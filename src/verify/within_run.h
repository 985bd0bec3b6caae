#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "base/progress_watch.h"
#include "stats/order.h"
#include "stats/random.h"
#include "verify/measured_run.h"
#include "verify/verdict.h"

namespace idleburn {

// What the rows of single runs tell about the error of their ratios. All functions take values and draw only from the
// generator that is passed in, so a result can be repeated to the bit.

// Correlation costs degrees of freedom, but an estimate keeps at least so many.
inline constexpr double kLeastDf = 2;
// Length of a bootstrap block, in correlation times.
inline constexpr double kBootstrapBlockTaus = 2;

// How sure the rows of one run are of its ratio R = GPU-seconds / work (docs/verification.md, "The interval"). Rows
// cannot show what differs from run to run.
struct RowsEstimate {
  double variance = 0;  // e^2, relative to R^2
  double df = 0;
  double tau = 1;  // correlation time, in summed rows
  double n_eff = 0;
  std::vector<WorkPiece> summed;  // the rows after summing
  double seconds_between_rows = 0;
};

// A run as a side takes it in.
struct RunEstimate {
  double gpu_seconds = 0;
  double work = 0;
  std::int64_t rows = 0;                      // as read, repeated readings merged
  std::optional<RowsEstimate> rows_estimate;  // absent with fewer than two rows, or without work in them
  [[nodiscard]] double Ratio() const { return gpu_seconds / work; }
};
// Merges repeated telemetry, sums rows, and estimates their correlation piece by piece.
RunEstimate EstimateRun(const MeasuredRun& run);

// What the ratio leaves unexplained in each row, relative to R: (g - R w) / (R x mean w). Their mean is 0 if R is the
// ratio of these rows. Rows may do different amounts of work.
std::vector<double> RatioResiduals(const WorkPiece& rows, double ratio);

// The saving again, by resampling blocks of rows within their runs. It assumes no shape of the noise, but it sees
// only what rows show. Returns the savings of all resamples in ascending order; an interval is a pair of their
// quantiles. Empty if a run has no rows. Blocks are 2 `tau` long, at most an eighth of a run. `draws` hears of each
// resample.
std::vector<double> BootstrapSavings(std::span<const RunEstimate> before, std::span<const RunEstimate> after,
                                     double tau, int resamples, Random& random, const ProgressWatch& draws = {});

// The interval between the outer quantiles of sorted savings, around `fraction`.
SavingInterval QuantileInterval(std::span<const double> ascending, double fraction, double level);

// A run as a point in time, for the drift guard.
struct DatedLog {
  double hours = 0;  // the middle of the run, in hours
  double log = 0;    // ln of GPU-seconds over what the baseline expects for its work
  bool after = false;
};

// Fits a trend common to both sides and a step between them. A change that is only part of the trend leaves no step.
// Needs 3 runs a side; absent with fewer, or if trend and step cannot be told apart.
std::optional<DriftGuard> GuardOverRuns(std::span<const DatedLog> runs, double level);

// The same over the summed rows of few runs. Its error takes the correlation of the residuals into account. It is
// reported and never decides: rows of one run cannot show what differs between runs.
std::optional<DriftGuard> GuardOverRows(std::span<const RunEstimate> before, std::span<const RunEstimate> after,
                                        double level);

// Whether the step has the sign of the saving and excludes 0. A saving is a step down.
bool OnTheSideOf(const DriftGuard& guard, double fraction);

}  // namespace idleburn
