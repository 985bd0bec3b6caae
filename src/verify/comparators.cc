#include "verify/comparators.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include "stats/least_squares.h"
#include "stats/mean.h"
#include "verify/effect.h"
#include "verify/side.h"

namespace idleburn {
namespace {

constexpr std::size_t kEnoughRuns = 3;

// The later half of the runs by date, of runs that all have one.
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

// ln R on half, group and both: the last coefficient is by how much the groups moved apart.
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
