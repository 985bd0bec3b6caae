#include "stats/random.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <vector>

namespace idleburn {

namespace {

constexpr int kDraws = 200'000;

struct Moments {
  double mean = 0;
  double variance = 0;
};

template <typename Draw>
Moments MomentsOf(Draw draw) {
  double sum = 0;
  double squares = 0;
  for (int i = 0; i < kDraws; ++i) {
    const double x = draw();
    sum += x;
    squares += x * x;
  }
  const double mean = sum / kDraws;
  return {mean, squares / kDraws - mean * mean};
}

// The first numbers of the reference implementation's demonstration, seed 42 and stream 54.
TEST(Random, IsTheReferenceGenerator) {
  Random random(42, 54);
  for (const std::uint32_t want : {0xa15c02b7U, 0x7b47f409U, 0xba1d3330U, 0x83d2f293U, 0xbfa4784bU, 0xcbed606eU}) {
    EXPECT_EQ(random.Next(), want);
  }
}

TEST(Random, StreamsDiffer) {
  Random a(1, 1);
  Random b(1, 2);
  EXPECT_NE(a.Next(), b.Next());
}

TEST(Random, UniformIsInsideAndEven) {
  Random random(1);
  const Moments m = MomentsOf([&random] {
    const double u = random.Uniform();
    EXPECT_GT(u, 0);
    EXPECT_LT(u, 1);
    return u;
  });
  EXPECT_NEAR(m.mean, 0.5, 0.003);
  EXPECT_NEAR(m.variance, 1.0 / 12, 0.001);
}

// Test values of Wichura's paper, and tables of the normal distribution.
TEST(NormalQuantile, MatchesPublishedValues) {
  EXPECT_NEAR(NormalQuantile(0.25), -0.6744897501960817, 1e-15);
  EXPECT_NEAR(NormalQuantile(0.001), -3.090232306167814, 1e-14);
  EXPECT_NEAR(NormalQuantile(1e-20), -9.262340089798408, 1e-13);
  EXPECT_NEAR(NormalQuantile(0.975), 1.959963984540054, 1e-14);
  EXPECT_EQ(NormalQuantile(0.5), 0);
}

TEST(NormalQuantile, UndoesTheDistributionFunction) {
  for (int i = -700; i <= 500; ++i) {
    const double z = i / 100.0;
    EXPECT_NEAR(NormalQuantile(NormalCdf(z)), z, 1e-9) << z;
  }
}

TEST(Random, NormalHasItsMoments) {
  Random random(2);
  const Moments m = MomentsOf([&random] { return random.Normal(); });
  EXPECT_NEAR(m.mean, 0, 0.01);
  EXPECT_NEAR(m.variance, 1, 0.02);
}

TEST(Random, GammaHasMeanAndVarianceOfItsShape) {
  for (const double shape : {0.2, 1.0, 3.5, 70.0}) {
    Random random(3);
    const Moments m = MomentsOf([&random, shape] { return random.Gamma(shape); });
    EXPECT_NEAR(m.mean, shape, 5 * std::sqrt(shape / kDraws)) << shape;
    EXPECT_NEAR(m.variance / shape, 1, 0.05) << shape;
  }
  EXPECT_EQ(Random(3).Gamma(0), 0);
}

// Of shape 1/2 the gamma is half the square of a normal: P(X < x) = erf(sqrt(x)).
TEST(Random, GammaOfOneHalfHasItsDistribution) {
  Random random(4);
  int below = 0;
  for (int i = 0; i < kDraws; ++i) below += random.Gamma(0.5) < 0.1 ? 1 : 0;
  EXPECT_NEAR(static_cast<double>(below) / kDraws, std::erf(std::sqrt(0.1)), 0.005);
}

TEST(BlockBootstrapTest, DrawsAsManyValuesAsThereAreInWholeBlocks) {
  Random random(5);
  for (const std::size_t block : {1U, 3U, 7U, 10U}) {
    std::size_t drawn = 0;
    DrawBlocks(10, block, random, [&](std::size_t begin, std::size_t end) {
      EXPECT_LT(begin, end);
      EXPECT_LE(end, 10U);
      EXPECT_EQ(end - begin, std::min<std::size_t>(block, 10 - drawn));
      drawn += end - begin;
    });
    EXPECT_EQ(drawn, 10U) << block;
  }
}

TEST(BlockBootstrapTest, EveryStartIsAsLikely) {
  Random random(6);
  std::vector<int> starts(6, 0);
  constexpr int kStartsDrawn = 6000;
  for (int i = 0; i < kStartsDrawn; ++i) {
    DrawBlocks(10, 5, random, [&](std::size_t begin, std::size_t) { ++starts.at(begin); });
  }
  for (const int count : starts) EXPECT_NEAR(count, 2 * kStartsDrawn / 6, 200);
}

}  // namespace

}  // namespace idleburn
