#include "diagnose/step_statistics.h"

#include <fmt/format.h>

#include <cmath>

#include "base/check.h"
#include "stats/order.h"

namespace idleburn {
namespace {

// Iglewicz and Hoaglin's modified z-score, with their border; and at least this share of the median, because steps
// may be so even that anything is far from them.
constexpr double kFarZ = 3.5;
constexpr double kZOfMad = 0.6745;
constexpr double kFarShare = 0.03;

double Ms(double ns) { return ns / 1e6; }

void MarkOutliers(StepStatistics& statistics) {
  for (StepTime& step : statistics.steps) {
    const double distance = std::abs(static_cast<double>(step.at.Ns()) - *statistics.median_ns);
    step.outlier =
        step.counted && kZOfMad * distance > kFarZ * *statistics.mad_ns && distance > kFarShare * *statistics.median_ns;
  }
}

}  // namespace

StepStatistics MeasureSteps(const std::vector<ProfiledStep>& steps, const std::vector<std::int64_t>& busy_by_step) {
  CHECK(steps.size() == busy_by_step.size());
  StepStatistics statistics;
  const bool drop_ends = steps.size() >= StepStatistics::kEnough;
  std::vector<double> times;
  for (std::size_t i = 0; i < steps.size(); ++i) {
    StepTime step{steps[i].number, {steps[i].start_ns, steps[i].end_ns}};
    step.busy_ns = busy_by_step[i];
    step.counted = !drop_ends || (i > 0 && i + 1 < steps.size());
    if (step.counted) times.push_back(static_cast<double>(step.at.Ns()));
    statistics.steps.push_back(step);
  }
  statistics.counted = static_cast<std::int64_t>(times.size());
  if (times.empty()) return statistics;
  const double median = Median(times);
  for (double& time : times) time = std::abs(time - median);
  statistics.median_ns = median;
  statistics.mad_ns = Median(times);
  if (drop_ends && median > 0) statistics.noise = 2 * *statistics.mad_ns / median;
  if (drop_ends) MarkOutliers(statistics);
  return statistics;
}

std::string Describe(const StepStatistics& statistics) {
  if (!statistics.median_ns) return "no steps";
  std::string text = fmt::format("{} step{}, median {:.3f} ms", statistics.steps.size(),
                                 statistics.steps.size() == 1 ? "" : "s", Ms(*statistics.median_ns));
  if (statistics.Enough()) {
    text += fmt::format(" without the first and the last, noise {:.1f} %", 100 * statistics.noise);
  }
  for (const StepTime& step : statistics.steps) {
    if (step.outlier) {
      text += fmt::format("; step {} is an outlier ({:.3f} ms)", step.number, Ms(static_cast<double>(step.at.Ns())));
    }
  }
  return text;
}

}  // namespace idleburn
