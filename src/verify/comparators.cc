#include "verify/comparators.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include "stats/least_squares.h"
#include "stats/mean.h"
#include "verify/effect.h"
#include "verify/measured_run.h"

namespace idleburn {

namespace {

// The variance of the mean of ln R over runs, with k = (sum W)^2 / sum W^2 effective runs: runs of different size
// weigh by their work.
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

  // A run of which only totals are known says nothing of its own noise, so rows count only if all runs have them.
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

namespace {

// Untouched runs needed on each side.
constexpr std::size_t kEnoughRuns = 3;

// Which runs belong to the later half by date. Absent if one has no date.
std::optional<std::vector<bool>> LaterHalf(std::span<const MeasuredRun> runs) {
  std::vector<Instant> starts;
  for (const MeasuredRun& run : runs) {
    if (!run.start) return std::nullopt;
    starts.push_back(*run.start);
  }
  std::vector<Instant> sorted = starts;
  std::sort(sorted.begin(), sorted.end());
  const Instant middle = sorted[sorted.size() / 2];
  std::vector<bool> later;
  for (const Instant start : starts) later.push_back(start >= middle);
  return later;
}

// Fits ln R by half, by group and by both together. The last coefficient is how far the groups moved apart; they moved
// alike if its interval includes 0. Absent with fewer than two runs in a group, or if one has no date.
std::optional<bool> MovedAlike(std::span<const MeasuredRun> changed, std::span<const MeasuredRun> untouched,
                               double level) {
  if (changed.size() < 2 || untouched.size() < 2) return std::nullopt;
  std::vector<std::vector<double>> columns(4);
  std::vector<double> logs;
  for (const bool is_changed : {false, true}) {
    const std::span<const MeasuredRun> runs = is_changed ? changed : untouched;
    const std::optional<std::vector<bool>> later = LaterHalf(runs);
    if (!later) return std::nullopt;
    for (std::size_t i = 0; i < runs.size(); ++i) {
      const double half = (*later)[i] ? 1 : 0;
      const double group = is_changed ? 1 : 0;
      columns[0].push_back(1);
      columns[1].push_back(half);
      columns[2].push_back(group);
      columns[3].push_back(half * group);
      logs.push_back(std::log(runs[i].gpu_seconds / runs[i].work));
    }
  }
  const std::optional<LeastSquares> fit = FitLeastSquares(columns, logs);
  if (!fit) return std::nullopt;
  return std::abs(fit->coefficients[3]) <= StudentTQuantile(fit->df, (1 + level) / 2) * fit->errors[3];
}

std::vector<RunEstimate> EstimateAll(std::span<const MeasuredRun> runs) {
  std::vector<RunEstimate> estimates;
  for (const MeasuredRun& run : runs) estimates.push_back(EstimateRun(run));
  return estimates;
}

}  // namespace

std::optional<UntouchedChange> ReadComparators(std::span<const MeasuredRun> untouched_before,
                                               std::span<const MeasuredRun> untouched_after,
                                               std::span<const MeasuredRun> baseline, double level) {
  if (untouched_before.empty() || untouched_after.empty()) return std::nullopt;
  const SideEstimate before = EstimateSide(EstimateAll(untouched_before));
  const SideEstimate after = EstimateSide(EstimateAll(untouched_after));
  if (!before.error_known || !after.error_known) return std::nullopt;
  const SavingEffect effect = EffectOfSides(before, after);
  UntouchedChange change;
  change.change = {effect.fraction, MovedAlike(baseline, untouched_before, level)};
  change.log_ratio = std::log1p(-effect.fraction);
  change.variance = effect.error * effect.error;
  change.df = effect.df;
  change.usable = untouched_before.size() >= kEnoughRuns && untouched_after.size() >= kEnoughRuns &&
                  change.change.parallel.value_or(false);
  return change;
}

}  // namespace idleburn
