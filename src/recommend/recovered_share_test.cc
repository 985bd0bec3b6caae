#include "recommend/recovered_share.h"

#include <gtest/gtest.h>

#include <cmath>
#include <string>
#include <vector>

#include "stats/random.h"

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
  EXPECT_EQ(Describe(With({0.1, 0.1, 0.1}, 3).Of("dali")), "0.8 of it");
}

// Worked by hand: four changes that gave back 0.6 of their bound on the mean, against a prior of 4 in 5.
TEST(RecoveredShareTest, TheWorkedExample) {
  const RecoveredShare share = With({0.5, 0.7, 0.6, 0.6}, 4).Of("num_workers");
  EXPECT_NEAR(share.mean, 6.4 / 9, 1e-12);
  EXPECT_EQ(Describe(share), "0.71 of it from 4 of your own verified changes, prior 0.80");
  EXPECT_EQ(Describe(With({0.6, 0.6, 0.0}, 2).Of("num_workers")),
            "0.65 of it from 3 of your own changes (2 verified, the others made it dearer), prior 0.80");
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

}  // namespace
}  // namespace idleburn
