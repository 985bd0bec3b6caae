#include "verify/drift_guard.h"

#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <vector>

namespace idleburn {
namespace {

// Equally spaced runs in turn, trend .01 an hour and step -.3: found to the last digit, the interval is the point.
TEST(DriftGuardTest, TellsATrendFromAStep) {
  std::vector<DatedLog> runs;
  for (int i = 0; i < 8; ++i) runs.push_back({1000.0 + i, 0.01 * i - (i >= 4 ? 0.3 : 0), i >= 4});
  const std::optional<DriftGuard> guard = GuardOverRuns(runs, 0.95);
  ASSERT_TRUE(guard);
  EXPECT_NEAR(guard->delta, -0.3, 1e-9);
  EXPECT_NEAR(guard->high, -0.3, 1e-6);
  EXPECT_TRUE(OnTheSideOf(*guard, 0.26));
  EXPECT_FALSE(OnTheSideOf(*guard, -0.26));
  EXPECT_FALSE(OnTheSideOf(*guard, 0));
}

// Before and after, adjacent and equally long: the trend takes most of the step's certainty. By hand for runs at -2.5
// .. 2.5 with step at 0: the variance of the step is 4/6 / (1 - r^2) of the residual's, r^2 = 81/105 the squared
// correlation of trend and step.
TEST(DriftGuardTest, AdjacentSidesPayForTheTrend) {
  const std::array<double, 6> noise = {0.01, -0.02, 0.01, 0.02, -0.01, -0.01};
  std::vector<DatedLog> runs;
  for (std::size_t i = 0; i < 6; ++i) runs.push_back({static_cast<double>(i), noise.at(i), i >= 3});
  const std::optional<DriftGuard> guard = GuardOverRuns(runs, 0.95);
  ASSERT_TRUE(guard);
  // Residuals of the fit: sum of squares by the normal equations of trend and step.
  const double sxx = 17.5;
  const double sxs = 4.5;
  const double sss = 1.5;
  double sxy = 0;
  double ssy = 0;
  double syy = 0;
  for (std::size_t i = 0; i < 6; ++i) {
    sxy += (static_cast<double>(i) - 2.5) * noise.at(i);
    ssy += (i >= 3 ? 0.5 : -0.5) * noise.at(i);
    syy += noise.at(i) * noise.at(i);
  }
  const double determinant = sxx * sss - sxs * sxs;
  const double trend = (sss * sxy - sxs * ssy) / determinant;
  const double step = (sxx * ssy - sxs * sxy) / determinant;
  const double variance = (syy - trend * sxy - step * ssy) / 3;
  const double half = 3.182446 * std::sqrt(variance * sxx / determinant);
  EXPECT_NEAR(guard->delta, step, 1e-12);
  EXPECT_NEAR(guard->low, step - half, 1e-7);
  EXPECT_NEAR(sxx / determinant, 4.0 / 6 / (1 - 81.0 / 105), 1e-12);
}

TEST(DriftGuardTest, CannotJudgeFewRunsOrOneInstant) {
  std::vector<DatedLog> runs;
  for (int i = 0; i < 5; ++i) runs.push_back({1.0 * i, 0.1 * (i % 2), i >= 3});
  EXPECT_FALSE(GuardOverRuns(runs, 0.95));  // two after
  runs.push_back({6, 0, true});
  EXPECT_TRUE(GuardOverRuns(runs, 0.95));
  for (DatedLog& run : runs) run.hours = run.after ? 2 : 1;  // trend and step are one
  EXPECT_FALSE(GuardOverRuns(runs, 0.95));
}

TEST(DriftGuardTest, OverRowsNeedsRowsWithWork) { EXPECT_FALSE(GuardOverRows({}, {}, 0.95)); }

}  // namespace
}  // namespace idleburn
