#include "verify/side.h"

#include <algorithm>
#include <cmath>

#include "stats/mean.h"
#include "verify/run_rows.h"

namespace idleburn {
namespace {

// Variance of the mean of ln R over runs, of runs that may differ in size.
double BetweenRuns(std::span<const RunEstimate> runs) {
  std::vector<double> logs;
  double work = 0;
  double squares = 0;
  for (const RunEstimate& run : runs) {
    logs.push_back(std::log(run.Ratio()));
    work += run.work;
    squares += run.work * run.work;
  }
  return VarianceOf(logs) / (work * work / squares);
}

}  // namespace

SideEstimate EstimateSide(std::span<const RunEstimate> runs) {
  SideEstimate side;
  side.runs = static_cast<int>(runs.size());
  for (const RunEstimate& run : runs) {
    side.gpu_seconds += run.gpu_seconds;
    side.work += run.work;
    side.rows += run.rows;
  }
  side.ratio = side.gpu_seconds / side.work;

  const bool all_rows =
      std::all_of(runs.begin(), runs.end(), [](const RunEstimate& run) { return run.rows_estimate.has_value(); });
  std::vector<VarianceTerm> terms;
  if (all_rows) {
    double n = 0;
    double tau = 0;
    double n_eff = 0;
    for (const RunEstimate& run : runs) {
      const double share = run.gpu_seconds / side.gpu_seconds;
      terms.push_back({share * share * run.rows_estimate->variance, run.rows_estimate->df});
      const auto rows = static_cast<double>(CountRows(run.rows_estimate->summed));
      n += rows;
      tau += rows * run.rows_estimate->tau;
      n_eff += run.rows_estimate->n_eff;
    }
    side.summed = static_cast<std::int64_t>(n);
    side.tau = tau / n;
    side.n_eff = n_eff;
  }
  const double within = TotalVariance(terms);
  if (side.runs >= kRunsThatSuffice) {
    side.error_known = true;
    side.relative_error = std::sqrt(std::max(within, BetweenRuns(runs)));
    side.df = side.runs - 1;
  } else if (all_rows) {
    side.error_known = true;
    side.relative_error = std::sqrt(within);
    side.df = WelchDf(terms);
  }
  return side;
}

RowCost CostOfRows(const SideEstimate& side, std::span<const RunEstimate> runs) {
  RowCost cost;
  for (const RunEstimate& run : runs) {
    if (!run.rows_estimate) return {};
    const auto rows = static_cast<double>(CountRows(run.rows_estimate->summed));
    cost.rows += rows;
    cost.seconds += rows * run.rows_estimate->seconds_between_rows;
  }
  cost.seconds /= cost.rows;
  cost.variance_of_one = side.relative_error * side.relative_error * cost.rows;
  return cost;
}

}  // namespace idleburn
