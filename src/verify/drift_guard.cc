#include "verify/drift_guard.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include "stats/least_squares.h"
#include "stats/mean.h"
#include "text/number.h"

namespace idleburn {
namespace {

struct DatedValue {
  double hours = 0;
  double value = 0;
  bool after = false;
};

// Constant, trend and step; the trend around its mean so that columns stay apart.
std::optional<LeastSquares> FitTrendAndStep(std::span<const DatedValue> values) {
  std::vector<std::vector<double>> columns(3);
  std::vector<double> y;
  double mean = 0;
  for (const DatedValue& value : values) mean += value.hours / static_cast<double>(values.size());
  for (const DatedValue& value : values) {
    columns[0].push_back(1);
    columns[1].push_back(value.hours - mean);
    columns[2].push_back(value.after ? 1 : 0);
    y.push_back(value.value);
  }
  return FitLeastSquares(columns, y);
}

DriftGuard StepOf(const LeastSquares& fit, double error, double df, double level) {
  const double half = StudentTQuantile(df, (1 + level) / 2) * error;
  const double delta = fit.coefficients[2];
  return {false, delta, delta - half, delta + half, false};
}

void AddRows(std::span<const RunEstimate> runs, bool after, std::vector<DatedValue>& values) {
  for (const RunEstimate& run : runs) {
    if (!run.rows_estimate) continue;
    for (const WorkPiece& piece : run.rows_estimate->summed) {
      for (const WorkRow& row : piece) {
        if (row.work <= 0) continue;
        const double hours = InHours(row.end.nanos());
        values.push_back({hours, row.gpu_seconds / row.work, after});
      }
    }
  }
}

}  // namespace

std::optional<DriftGuard> GuardOverRuns(std::span<const DatedLog> runs, double level) {
  const auto after = std::count_if(runs.begin(), runs.end(), [](const DatedLog& run) { return run.after; });
  if (after < 3 || static_cast<std::ptrdiff_t>(runs.size()) - after < 3) return std::nullopt;
  std::vector<DatedValue> values;
  for (const DatedLog& run : runs) values.push_back({run.hours, run.log, run.after});
  const std::optional<LeastSquares> fit = FitTrendAndStep(values);
  if (!fit) return std::nullopt;
  DriftGuard guard = StepOf(*fit, fit->errors[2], fit->df, level);
  guard.over_runs = true;
  return guard;
}

std::optional<DriftGuard> GuardOverRows(std::span<const RunEstimate> before, std::span<const RunEstimate> after,
                                        double level) {
  std::vector<DatedValue> values;
  AddRows(before, false, values);
  AddRows(after, true, values);
  std::stable_sort(values.begin(), values.end(),
                   [](const DatedValue& a, const DatedValue& b) { return a.hours < b.hours; });
  const std::optional<LeastSquares> fit = FitTrendAndStep(values);
  if (!fit) return std::nullopt;
  const CorrelationTime time = CorrelationTimeOf(fit->residuals);
  const double df = std::max(2.0, time.Windows(static_cast<double>(values.size())) - 3);
  return StepOf(*fit, fit->errors[2] * std::sqrt(time.tau), df, level);
}

bool OnTheSideOf(const DriftGuard& guard, double fraction) {
  return fraction > 0 ? guard.high < 0 : fraction < 0 && guard.low > 0;
}

}  // namespace idleburn
