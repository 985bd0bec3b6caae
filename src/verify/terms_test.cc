#include "verify/terms.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <vector>

namespace idleburn {

namespace {

// Every way to take two of them, one by one.
double ChanceOfTwo(const std::vector<double>& all, double seen) {
  int as_bad = 0;
  int pairs = 0;
  for (std::size_t i = 0; i < all.size(); ++i) {
    for (std::size_t j = 0; j < i; ++j) {
      ++pairs;
      as_bad += (all[i] + all[j]) / 2 >= seen - 1e-12 ? 1 : 0;
    }
  }
  return static_cast<double>(as_bad) / pairs;
}

TEST(BaselineChoice, TheChanceIsThatOfABlindDraw) {
  const std::vector<double> others = {0.3, -0.1, 0.2, 0.05, -0.4, 0.15, 0.0, 0.25};
  for (const std::vector<double>& given :
       {std::vector<double>{0.5, 0.4}, std::vector<double>{0.0, 0.1}, std::vector<double>{-0.5, -0.6}}) {
    std::vector<double> all = others;
    all.insert(all.end(), given.begin(), given.end());
    Random random(3);
    const std::optional<ChoiceReading> reading = ReadChoice(given, others, random);
    ASSERT_TRUE(reading);
    const double chance = ChanceOfTwo(all, (given[0] + given[1]) / 2);
    EXPECT_NEAR(reading->chance, chance, 4 * std::sqrt(0.25 / 2000)) << given[0];
    EXPECT_EQ(reading->looks_picked, chance < 0.05) << given[0];
  }
}

TEST(BaselineChoice, AlikeIsNotPicked) {
  Random random(3);
  const std::vector<double> others(6, 0.1);
  const std::vector<double> given(3, 0.1);
  const std::optional<ChoiceReading> reading = ReadChoice(given, others, random);
  ASSERT_TRUE(reading);
  EXPECT_EQ(reading->chance, 1);
  EXPECT_FALSE(ReadChoice(given, std::vector<double>(5, 0.1), random)) << "too few others to tell";
  EXPECT_FALSE(ReadChoice({}, others, random));
}

// The mean of the worst tenth of many normal draws, and Student's table: 4.302653 for 2 degrees of freedom.
TEST(BaselineChoice, TheWorstTenthIsThatOfNormalDraws) {
  Random random(11);
  std::vector<double> draws(200'000);
  for (double& draw : draws) draw = random.Normal();
  std::sort(draws.begin(), draws.end(), std::greater<>());
  double mean = 0;
  for (std::size_t i = 0; i < draws.size() / 10; ++i) mean += draws[i] / (static_cast<double>(draws.size()) / 10);
  const std::vector<double> narrow = {0.01, 0.0, -0.01};  // deviation 0.01
  const std::vector<double> wide = {0.02, 0.0, -0.02};    // 0.02
  const WorstTenth worst = WorstTenthOf(narrow, wide, 0.95);
  EXPECT_NEAR(worst.mean, 0.02 * mean, 0.02 * 0.02);
  EXPECT_NEAR(worst.most - worst.mean, 0.02 * 4.302653 * std::sqrt(2.0 / 3), 1e-6);
  EXPECT_EQ(WorstTenthOf(wide, narrow, 0.95).most, worst.most);
}

}  // namespace

}  // namespace idleburn
