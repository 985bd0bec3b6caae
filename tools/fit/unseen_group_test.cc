#include "fit/unseen_group.h"

#include <gtest/gtest.h>

#include <cmath>
#include <random>

namespace idleburn {
namespace {

TEST(UnseenGroupTest, WithoutDeviationsWithinItIsStudentsTOfTheMeans) {
  // Means 1, 2, 3: variance 1, of a fourth 4/3; t with 2 degrees at 95 % is 2.91998558.
  const std::vector<std::vector<double>> groups = {{1, 1}, {2, 2, 2}, {3}};
  const std::optional<ConfidenceInterval> interval = IntervalOfUnseenGroup(groups, 0.9);
  ASSERT_TRUE(interval);
  EXPECT_NEAR(interval->high, 2 + 2.91998558 * std::sqrt(4.0 / 3), 1e-6);
  EXPECT_NEAR(interval->low, 2 - 2.91998558 * std::sqrt(4.0 / 3), 1e-6);
}

TEST(UnseenGroupTest, GroupsWithOneMeanDifferOnlyWithin) {
  const std::vector<std::vector<double>> groups = {{-1, 0, 1}, {-1, 0, 1}};
  const std::optional<ConfidenceInterval> interval = IntervalOfUnseenGroup(groups, 0.9);
  ASSERT_TRUE(interval);
  EXPECT_DOUBLE_EQ(interval->low, -1);
  EXPECT_DOUBLE_EQ(interval->high, 1);
  EXPECT_FALSE(IntervalOfUnseenGroup(std::vector<std::vector<double>>{{1, 2}}, 0.9));
}

// Of eight groups that are drawn, a ninth holds its level, whether groups or what is within them differs more.
TEST(UnseenGroupTest, HoldsItsLevelInDraws) {
  for (const double between : {0.2, 1.0, 3.0}) {
    std::mt19937 random(20261122);
    std::normal_distribution<double> normal;
    int inside = 0;
    constexpr int kDraws = 2000;
    for (int draw = 0; draw < kDraws; ++draw) {
      std::vector<std::vector<double>> groups(8);
      for (std::vector<double>& group : groups) {
        const double off = between * normal(random);
        for (int i = 0; i < 20; ++i) group.push_back(5 + off + normal(random));
      }
      const ConfidenceInterval interval = *IntervalOfUnseenGroup(groups, 0.9);
      const double value = 5 + between * normal(random) + normal(random);
      inside += value >= interval.low && value <= interval.high ? 1 : 0;
    }
    EXPECT_NEAR(inside / static_cast<double>(kDraws), 0.9, 0.025) << between;
  }
}

}  // namespace
}  // namespace idleburn
