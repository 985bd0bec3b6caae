#include "recommend/saving_draws.h"

#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <algorithm>
#include <cmath>
#include <random>
#include <string>
#include <vector>

#include "stats/random.h"
#include "support/property.h"

namespace idleburn {
namespace {

RecoveredShares With(std::vector<double> shares, int verified) {
  std::map<std::string, OwnChanges, std::less<>> own;
  own["num_workers"] = {std::move(shares), verified};
  return RecoveredShares(std::move(own));
}

TEST(RecoveredShareTest, AFewOfOnesOwnMoveThePriorAndFewerDoNot) {
  EXPECT_DOUBLE_EQ(RecoveredShares().Of("num_workers").mean, 0.8);
  EXPECT_DOUBLE_EQ(With({0.1, 0.1}, 2).Of("num_workers").mean, 0.8);
  EXPECT_EQ(With({0.1, 0.1}, 2).Of("num_workers").own, 0);
  EXPECT_DOUBLE_EQ(With({0.1, 0.1, 0.1}, 3).Of("dali").mean, 0.8);  // another lever's
  EXPECT_EQ(Describe(With({0.1, 0.1, 0.1}, 3).Of("dali")), "0.8 of the bound");
}

// Worked by hand: four changes that gave back 0.6 of their bound on the mean, against a prior of 4 in 5.
TEST(RecoveredShareTest, TheWorkedExample) {
  const RecoveredShare share = With({0.5, 0.7, 0.6, 0.6}, 4).Of("num_workers");
  EXPECT_NEAR(share.mean, 6.4 / 9, 1e-12);
  EXPECT_EQ(Describe(share), "0.71 of the bound, from 4 of your own verified changes (prior 0.80)");
  EXPECT_EQ(Describe(With({0.6, 0.6, 0.0}, 2).Of("num_workers")),
            "0.65 of the bound, from 3 of your own changes (2 verified, the others raised the cost; prior 0.80)");
}

// An independent computation: the posterior mean by brute force over a grid. Whether a share of a bound comes back or
// not is a coin of unknown bias with the prior Beta(4,1); a change that gave back 0.6 counts as 0.6 of a head and 0.4
// of a tail.
TEST(RecoveredShareTest, IsTheMeanOfThePosteriorOnAGrid) {
  const std::vector<std::vector<double>> cases = {
      {0.2, 0.3, 0.4}, {1, 1, 1}, {0, 0, 0, 0, 0}, {0.9, 0.1, 0.5, 0.7, 0.3, 0.8}};
  for (const std::vector<double>& shares : cases) {
    constexpr int kPoints = 200'000;
    double weight = 0;
    double sum = 0;
    for (int i = 0; i < kPoints; ++i) {
      const double p = (i + 0.5) / kPoints;
      double log_density = 3 * std::log(p);  // Beta(4,1)
      for (const double x : shares) log_density += x * std::log(p) + (1 - x) * std::log1p(-p);
      weight += std::exp(log_density);
      sum += p * std::exp(log_density);
    }
    EXPECT_NEAR(With(shares, 1).Of("num_workers").mean, sum / weight, 1e-6);
  }
}

// Whatever the changes gave, the estimate lies between them and the prior, and the more there are, the nearer to them.
TEST(RecoveredShareTest, ShrinksToThePrior) {
  for (const double x : {0.0, 0.3, 0.8, 1.0}) {
    double distance = std::abs(x - 0.8);
    for (std::size_t n = 3; n < 60; ++n) {
      const double mean = With(std::vector<double>(n, x), static_cast<int>(n)).Of("num_workers").mean;
      EXPECT_GE(mean, std::min(x, 0.8) - 1e-12);
      EXPECT_LE(mean, std::max(x, 0.8) + 1e-12);
      EXPECT_LE(std::abs(x - mean), distance + 1e-12);
      distance = std::abs(x - mean);
    }
  }
}

// The draws have the mean that the text says: Beta(a,1) is U^(1/a).
TEST(RecoveredShareTest, TheShapeGivesTheMean) {
  EXPECT_EQ(ShapeOf(RecoveredShares().Of("dali")), 4);
  const RecoveredShare share = With({0.2, 0.3, 0.4}, 3).Of("num_workers");
  Random random(7);
  double sum = 0;
  constexpr int kDraws = 200'000;
  for (int i = 0; i < kDraws; ++i) sum += std::pow(NormalCdf(random.Normal()), 1 / ShapeOf(share));
  EXPECT_NEAR(sum / kDraws, share.mean, 0.003);
}

constexpr double kSampling = 0.008;  // four standard errors of a quantile of 10,000 draws of Beta(4,1), and more

// One lane of one stage, cut by `cuts`: the total is 1 - prod(1 - cut).
CombineInput OneStage(const std::vector<double>& cuts) {
  CombineInput input;
  input.lanes = {{"lane", {{"stage", 100}}}};
  for (const double e : cuts)
    input.lane_fixes.push_back({"f" + std::to_string(input.lane_fixes.size()), {{"stage", e}}});
  return input;
}

// Beta(4,1) has distribution function x^4.
TEST(SavingDraws, OneFixFollowsItsPrior) {
  const DrawnSaving drawn = DrawSaving(OneStage({0.5}));
  EXPECT_NEAR(drawn.low, 0.5 * std::pow(0.05, 0.25), kSampling);
  EXPECT_NEAR(drawn.median, 0.5 * std::pow(0.5, 0.25), kSampling);
  EXPECT_NEAR(drawn.high, 0.5 * std::pow(0.95, 0.25), kSampling);
}

// P(both normals < z) under a common factor of correlation 1/2, integrated over the factor.
double BothBelow(double z) {
  double sum = 0;
  for (int i = -8000; i <= 8000; ++i) {
    const double t = i / 1000.0;
    const double one = 0.5 * std::erfc(-(z - std::sqrt(0.5) * t) / std::sqrt(0.5) / std::sqrt(2.0));
    sum += std::exp(-0.5 * t * t) / std::sqrt(2 * 3.14159265358979323846) * one * one / 1000;
  }
  return sum;
}

// The p-point of the larger of two recoveries on one stage.
double LargerOfTwo(double p) {
  double low = -8;
  double high = 8;
  for (int i = 0; i < 50; ++i) {
    const double middle = (low + high) / 2;
    (BothBelow(middle) < p ? low : high) = middle;
  }
  return std::pow(0.5 * std::erfc(-low / std::sqrt(2.0)), 0.25);
}

TEST(SavingDraws, FixesOnOneStageHitOrMissTogetherAndTheMaximumIsTakenInsideEachDraw) {
  EXPECT_NEAR(BothBelow(0), 1.0 / 3, 1e-9);  // 1/4 + asin(1/2)/(2 pi)
  CombineInput input = OneStage({0.5, 0.5});
  input.substitutes = {{"f0", "f1"}};
  const DrawnSaving drawn = DrawSaving(input);
  EXPECT_NEAR(drawn.low, 0.5 * LargerOfTwo(0.05), kSampling);
  EXPECT_NEAR(drawn.median, 0.5 * LargerOfTwo(0.5), kSampling);
  EXPECT_NEAR(drawn.high, 0.5 * LargerOfTwo(0.95), kSampling);
}

TEST(SavingDraws, PoolSharesAreDirichlet) {
  CombineInput input;
  input.pools = {{"a", 0.3, {{"x", 0.5}}}, {"b", 0.2, {{"x", 0.5}}}};
  SavingDraws options;
  options.independent_steps = 12;
  // The same with the standard library's distributions; the sum of the pools is Beta-like with its shares.
  std::mt19937_64 random(7);
  std::gamma_distribution<double> a(3.6);
  std::gamma_distribution<double> b(2.4);
  std::gamma_distribution<double> rest(6);
  std::uniform_real_distribution<double> uniform;
  std::vector<double> twin;
  for (int i = 0; i < 200'000; ++i) {
    const double in_a = a(random);
    const double in_b = b(random);
    const double all = in_a + in_b + rest(random);
    twin.push_back(0.5 * (in_a * std::pow(uniform(random), 0.25) + in_b * std::pow(uniform(random), 0.25)) / all);
  }
  std::sort(twin.begin(), twin.end());
  const DrawnSaving drawn = DrawSaving(input, options);
  EXPECT_NEAR(drawn.median, twin[100'000], kSampling);
  EXPECT_NEAR(drawn.high, twin[190'000], kSampling);
  EXPECT_EQ(drawn.low, 0);
}

TEST(SavingDraws, TheCapActsInsideEachDraw) {
  CombineInput input;
  input.fixes = {{"a", 0.9}, {"b", 0.9}, {"c", 0.9}};
  input.waste = 0.5;
  input.rate_cut = 0.6;
  const DrawnSaving drawn = DrawSaving(input);
  EXPECT_NEAR(drawn.high, 0.8, 1e-12);
  EXPECT_NEAR(drawn.median, 0.8, 1e-12);
  EXPECT_EQ(drawn.low, 0);
}

TEST(SavingDraws, WithoutAFixOnTimeNothingIsUncertain) {
  CombineInput input;
  input.rate_cut = 0.6;
  const DrawnSaving drawn = DrawSaving(input);
  EXPECT_DOUBLE_EQ(drawn.low, 0.6);
  EXPECT_DOUBLE_EQ(drawn.high, 0.6);
}

TEST(SavingDraws, SeedDecides) {
  SavingDraws other;
  other.seed = 2;
  EXPECT_EQ(DrawSaving(OneStage({0.4, 0.3})).high, DrawSaving(OneStage({0.4, 0.3})).high);
  EXPECT_NE(DrawSaving(OneStage({0.4, 0.3})).high, DrawSaving(OneStage({0.4, 0.3}), other).high);
}

TEST(SavingDraws, IntervalBracketsItsMedianAndStaysBelowTheWhole) {
  test::ExpectProperty([] {
    const auto share = [] { return *rc::gen::inRange(0, 100) / 100.0; };
    CombineInput input;
    input.waste = share();
    input.pools = {{"a", *input.waste * 0.6, {{"x", share()}, {"y", share()}}},
                   {"b", *input.waste * 0.4, {{"y", share()}}}};
    if (*rc::gen::arbitrary<bool>()) input.cheaper = {{share(), 2}};
    if (*rc::gen::arbitrary<bool>()) input.pools.clear();
    input.fixes = {{"x", share()}, {"z", share()}};
    input.rate_cut = share();
    SavingDraws options;
    options.count = 200;
    const DrawnSaving drawn = DrawSaving(input, options);
    RC_ASSERT(drawn.low <= drawn.median);
    RC_ASSERT(drawn.median <= drawn.high);
    RC_ASSERT(drawn.high < 1);
    RC_ASSERT(drawn.low == 0);
    // Recoveries only take away from claims; only drawn pool shares may exceed what was given.
    if (input.pools.empty()) RC_ASSERT(drawn.high <= Combine(input).total + 1e-12);
  });
}

}  // namespace
}  // namespace idleburn
