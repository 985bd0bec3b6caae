#include "diagnose/trace_budget.h"

#include <gtest/gtest.h>

namespace idleburn {
namespace {

// Of steps of these lengths in ms, one after the other, on an idle device.
StepStatistics Measured(const std::vector<double>& ms) {
  std::vector<ProfiledStep> steps;
  std::int64_t at = 0;
  for (const double length : ms) {
    const auto ns = static_cast<std::int64_t>(length * 1e6);
    steps.push_back({at, at + ns, static_cast<std::int64_t>(steps.size()), 0});
    at += ns;
  }
  return MeasureSteps(steps, std::vector<std::int64_t>(steps.size()));
}

TEST(StepStatisticsTest, DropsTheFirstAndTheLastFromFourStepsOn) {
  const StepStatistics s = Measured({181.565, 123.884, 126.824, 126.272, 163.461, 116.146});
  EXPECT_EQ(s.counted, 4);
  EXPECT_DOUBLE_EQ(*s.median_ns, 126.548e6);
  EXPECT_DOUBLE_EQ(*s.mad_ns, 1.47e6);  // of 2.664, 0.276, 0.276 and 36.913 ms
  EXPECT_NEAR(s.noise, 2 * 1.47 / 126.548, 1e-9);
  EXPECT_TRUE(s.Enough());
  EXPECT_FALSE(s.steps.front().counted || s.steps.back().counted);
  EXPECT_TRUE(s.steps[4].outlier);
  EXPECT_FALSE(s.steps[0].outlier);  // longer still, but warm-up is nobody's fault
  EXPECT_EQ(Describe(s),
            "6 steps, median 127 ms without the first and the last, noise 2.3 %; step 4 is an outlier (163 ms)");
}

TEST(StepStatisticsTest, FewStepsCountAllAndKnowNoNoise) {
  const StepStatistics s = Measured({1, 10, 2});
  EXPECT_EQ(s.counted, 3);
  EXPECT_EQ(*s.median_ns, 2e6);
  EXPECT_EQ(s.noise, 0);
  EXPECT_FALSE(s.Enough());
  EXPECT_FALSE(s.steps[1].outlier);
  EXPECT_FALSE(MeasureSteps({}, {}).median_ns.has_value());
  EXPECT_EQ(Describe(MeasureSteps({}, {})), "no steps");
}

TEST(StepStatisticsTest, OutliersAreFarAndMatter) {
  const auto outliers = [](const std::vector<double>& ms) {
    int count = 0;
    for (const StepTime& step : Measured(ms).steps) count += step.outlier ? 1 : 0;
    return count;
  };
  EXPECT_EQ(outliers({9, 10, 10, 10, 10.3, 9}), 0);  // 3 % of the median is not far, however even the others are
  EXPECT_EQ(outliers({9, 10, 10, 10, 10.31, 9}), 1);
  EXPECT_EQ(outliers({9, 8, 9, 10, 11, 12, 9}), 0);  // as wide as all of them
}

TEST(StepStatisticsTest, AStepIsBusyOrIdle) {
  const StepStatistics s = MeasureSteps({{0, 1'000'000, 0, 0}, {1'000'000, 2'000'000, 1, 0}}, {500'000, 200'000});
  EXPECT_EQ(s.steps[0].busy_ns, 500'000);
  EXPECT_EQ(s.steps[1].IdleNs(), 800'000);
}

}  // namespace
}  // namespace idleburn
