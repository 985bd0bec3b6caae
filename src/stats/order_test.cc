#include "stats/order.h"

#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <vector>

#include "stats/random.h"
#include "support/property.h"

namespace idleburn {
namespace {

// numpy.quantile([1, 2, 4, 8], p)
TEST(SortedQuantile, InterpolatesLikeTypeSeven) {
  constexpr std::array<double, 4> kValues = {1, 2, 4, 8};
  EXPECT_DOUBLE_EQ(SortedQuantile(kValues, 0), 1);
  EXPECT_DOUBLE_EQ(SortedQuantile(kValues, 0.25), 1.75);
  EXPECT_DOUBLE_EQ(SortedQuantile(kValues, 0.5), 3);
  EXPECT_DOUBLE_EQ(SortedQuantile(kValues, 0.95), 7.4);
  EXPECT_DOUBLE_EQ(SortedQuantile(kValues, 1), 8);
}

TEST(SortedQuantile, OfOneValueIsThatValue) {
  constexpr std::array<double, 1> kOne = {3};
  EXPECT_EQ(SortedQuantile(kOne, 0.05), 3);
}

TEST(Median, TakesValuesInAnyOrder) {
  EXPECT_EQ(Median({8, 1, 4}), 4);
  EXPECT_EQ(Median({8, 1, 4, 2}), 3);
}

double MedianOf(const std::vector<std::int64_t>& values) {
  WalkedMedian median;
  for (const std::int64_t v : values) median.Count(v);
  if (!median.Narrow()) return median.Value();
  for (const std::int64_t v : values) median.Collect(v);
  return median.Value();
}

void IsThatOfSortedValues() {
  std::vector<std::int64_t> values;
  const int n = *rc::gen::inRange(1, 40);
  for (int i = 0; i < n; ++i) {
    // Of any magnitude, and often near each other or the same.
    const std::int64_t least = std::int64_t{1} << *rc::gen::inRange(0, 50);
    values.push_back(least + *rc::gen::inRange<std::int64_t>(-3, 3));
  }
  RC_ASSERT(MedianOf(values) == Median(std::vector<double>(values.begin(), values.end())));
}

TEST(WalkedMedianTest, IsThatOfSortedValues) { test::ExpectProperty("median of two walks", IsThatOfSortedValues); }

TEST(WalkedMedianTest, ByHand) {
  EXPECT_EQ(MedianOf({7}), 7);
  EXPECT_EQ(MedianOf({0, 9'000'000'000'000'000'000}), 4.5e18);
  EXPECT_EQ(MedianOf({5'000'001, 5'000'000, 5'000'003, 5'000'002}), 5'000'001.5);
  EXPECT_EQ(MedianOf({-5, -3, 2}), -3);
}

TEST(NearSearchTest, FindsTheSameFromAnyGuess) {
  for (std::size_t n = 0; n < 20; ++n) {
    for (std::size_t first = 0; first <= n; ++first) {
      for (std::size_t guess = 0; guess < n + 3; ++guess) {
        EXPECT_EQ(PartitionPointNear(n, guess, [first](std::size_t i) { return i < first; }), first);
      }
    }
  }
}

TEST(NearSearchTest, AGoodGuessLooksAtFew) {
  const std::vector<std::size_t> first = {0, 499'999, 500'000, 999'999};
  for (const std::size_t at : first) {
    int looked = 0;
    const auto before = [&](std::size_t i) { return ++looked, i < at; };
    EXPECT_EQ(PartitionPointNear(1'000'000, at, before), at);
    EXPECT_LE(looked, 2);
  }
}

TEST(NearSearchTest, GuessesByProportion) {
  EXPECT_EQ(EvenGuess(100, 10, 20, 15), 50U);
  EXPECT_EQ(EvenGuess(100, 10, 20, 30), 100U);
  EXPECT_EQ(EvenGuess(100, 10, 20, 5), 0U);
  EXPECT_EQ(EvenGuess(100, 10, 10, 10), 0U);
}

}  // namespace

namespace {

// 2, 4, 9: the mean is 5, and 9 + 1 + 16 are the squares about it.
TEST(MomentsTest, AreTheirFormulasByHand) {
  const std::array<double, 3> values = {2, 4, 9};
  EXPECT_EQ(MeanOf(values), 5);
  EXPECT_EQ(SquaresAbout(values, 5), 26);
  EXPECT_EQ(SquaresAbout(values, 4), 4 + 0 + 25);
  EXPECT_EQ(VarianceOf(values), 13);
}

TEST(MomentsTest, ValuesThatAreAlikeDoNotVary) {
  EXPECT_EQ(VarianceOf(std::array<double, 2>{3, 3}), 0);
  EXPECT_EQ(SquaresAbout({}, 1), 0);
}

// From the table printed in textbooks (two-sided 95 %, one-sided 95 % and 99.5 %).
TEST(StudentTTest, QuantilesAreThoseOfThePublishedTable) {
  struct Row {
    double df;
    double p;
    double t;
  };
  constexpr std::array<Row, 12> kTable = {{{1, 0.975, 12.706},
                                           {2, 0.975, 4.303},
                                           {3, 0.975, 3.182},
                                           {5, 0.975, 2.571},
                                           {10, 0.975, 2.228},
                                           {30, 0.975, 2.042},
                                           {120, 0.975, 1.980},
                                           {1, 0.95, 6.314},
                                           {7, 0.95, 1.895},
                                           {2, 0.995, 9.925},
                                           {15, 0.995, 2.947},
                                           {60, 0.995, 2.660}}};
  for (const Row& row : kTable) {
    EXPECT_NEAR(StudentTQuantile(row.df, row.p), row.t, 0.0006) << row.df << " " << row.p;
    EXPECT_DOUBLE_EQ(StudentTQuantile(row.df, 1 - row.p), -StudentTQuantile(row.df, row.p));
  }
}

// The density integrated by Simpson's rule: nothing in common with the incomplete beta function.
double CdfByIntegration(double df, double t) {
  const auto density = [df](double x) {
    const double scale = std::exp(std::lgamma((df + 1) / 2) - std::lgamma(df / 2)) / std::sqrt(df * std::acos(-1.0));
    return scale * std::pow(1 + x * x / df, -(df + 1) / 2);
  };
  constexpr int kSteps = 20'000;
  const double h = t / kSteps;
  double sum = density(0) + density(t);
  for (int i = 1; i < kSteps; ++i) sum += (i % 2 == 1 ? 4 : 2) * density(i * h);
  return 0.5 + sum * h / 3;
}

TEST(StudentTTest, TheDistributionIsTheIntegralOfItsDensity) {
  for (const double df : {0.7, 1.0, 2.0, 2.5, 4.0, 9.0, 33.3, 250.0}) {
    for (const double t : {0.01, 0.3, 1.0, 2.2, 6.0, 20.0}) {
      EXPECT_NEAR(StudentTCdf(df, t), CdfByIntegration(df, t), 1e-10) << df << " " << t;
      EXPECT_NEAR(StudentTCdf(df, -t), 1 - StudentTCdf(df, t), 1e-14) << df << " " << t;
    }
  }
}

TEST(StudentTTest, TheIntervalOfAMeanIsThatOfItsDefinition) {
  // 4, 5, 9: mean 6, standard deviation sqrt(7), t(2) = 4.3027.
  const std::vector<double> values = {4, 5, 9};
  const std::optional<ConfidenceInterval> interval = IntervalOfMean(values, 0.95);
  ASSERT_TRUE(interval);
  const double half = 4.302653 * std::sqrt(7.0 / 3);
  EXPECT_NEAR(interval->low, 6 - half, 1e-5);
  EXPECT_NEAR(interval->high, 6 + half, 1e-5);
  EXPECT_FALSE(IntervalOfMean(std::vector<double>{4}, 0.95));
  const std::optional<ConfidenceInterval> same = IntervalOfMean(std::vector<double>{4, 4, 4}, 0.95);
  ASSERT_TRUE(same);
  EXPECT_EQ(same->low, 4);
  EXPECT_EQ(same->high, 4);
}

TEST(WelchTest, IsItsFormulaByHand) {
  // (3 + 1)^2 / (3^2/2 + 1^2/6)
  EXPECT_NEAR(WelchDf(std::array<VarianceTerm, 2>{{{3, 2}, {1, 6}}}), 16 / (9.0 / 2 + 1.0 / 6), 1e-12);
  EXPECT_NEAR(TotalVariance(std::array<VarianceTerm, 2>{{{3, 2}, {1, 6}}}), 4, 1e-12);
}

TEST(WelchTest, EqualTermsAddTheirDegrees) {
  EXPECT_NEAR(WelchDf(std::array<VarianceTerm, 2>{{{2, 4}, {2, 4}}}), 8, 1e-12);
  EXPECT_NEAR(WelchDf(std::array<VarianceTerm, 2>{{{1e-200, 4}, {1e-200, 4}}}), 8, 1e-12);
}

TEST(WelchTest, ATermOfNothingAddsNothing) {
  EXPECT_NEAR(WelchDf(std::array<VarianceTerm, 2>{{{2, 4}, {0, 1}}}), 4, 1e-12);
  EXPECT_EQ(WelchDf(std::array<VarianceTerm, 1>{{{0, 5}}}), 1);
}

// n rho^2 + 1 = 10: sqrt(10 / (10,000 x 0.09) x ln(10 / 0.0025)) = sqrt(0.0111111 x 8.294050).
TEST(ConfidenceSequenceTest, IsItsFormulaByHand) {
  EXPECT_NEAR(SequenceHalfWidth(100, 1, 0.05), 0.3035718, 1e-6);
  EXPECT_NEAR(SequenceHalfWidth(100, 2, 0.05), 2 * 0.3035718, 2e-6);
}

// What looking again and again costs: at every n it is wider than a look once would be, by 1.4 to 2.
TEST(ConfidenceSequenceTest, IsWiderThanOneLook) {
  for (const double n : {20.0, 50.0, 200.0, 2000.0}) {
    const double once = 1.959964 / std::sqrt(n);
    EXPECT_GT(SequenceHalfWidth(n, 1, 0.05), 1.4 * once) << n;
    EXPECT_LT(SequenceHalfWidth(n, 1, 0.05), 2.1 * once) << n;
  }
}

// Alternating +1 and -1, twelve of them: rho_k = (-1)^k (12 - k) / 12, so that both pairs of lags below 4 are 1/12; the
// sum 2 * 2/12 - 1 is below 1, and K = 3 divides by 1 - 7/12.
TEST(CorrelationTimeTest, OfAnAlternatingSeriesByHand) {
  std::vector<double> series;
  for (int i = 0; i < 12; ++i) series.push_back(i % 2 == 0 ? 5 : 3);
  const CorrelationTime time = CorrelationTimeOf(series);
  EXPECT_EQ(time.last_lag, 3);
  EXPECT_NEAR(time.tau, 1 / (1 - 7.0 / 12), 1e-12);
  EXPECT_DOUBLE_EQ(time.Windows(12), 12.0 / 7);
}

// A ramp 1..6: centred -2.5 .. 2.5, sum of squares 17.5, of lag-one products 8.75; only lag 1 is below 6 / 3.
TEST(CorrelationTimeTest, OfAShortRampByHand) {
  const CorrelationTime time = CorrelationTimeOf(std::vector<double>{1, 2, 3, 4, 5, 6});
  EXPECT_EQ(time.last_lag, 1);
  EXPECT_NEAR(time.tau, (2 * (1 + 8.75 / 17.5) - 1) / (1 - 3.0 / 6), 1e-12);
}

TEST(CorrelationTimeTest, OfValuesThatDoNotVaryIsOne) {
  EXPECT_DOUBLE_EQ(CorrelationTimeOf(std::vector<double>(50, 3.0)).tau, 1 / (1 - 1.0 / 50));
  EXPECT_DOUBLE_EQ(CorrelationTimeOf(std::vector<double>{1, 2}).tau, 2);  // no lag is below 2 / 3
}

// (1 + phi) / (1 - phi) of an autoregression, or a little more: stopping at the first pair that is not positive keeps
// the noise of those before it.
TEST(CorrelationTimeTest, IsThatOfAnAutoregression) {
  for (const double phi : {0.0, 0.5, 0.9}) {
    double sum = 0;
    constexpr int kSeries = 40;
    for (int repetition = 0; repetition < kSeries; ++repetition) {
      Random random(7, static_cast<std::uint64_t>(repetition));
      std::vector<double> series;
      double x = random.Normal();
      for (int i = 0; i < 4000; ++i) {
        series.push_back(x);
        x = phi * x + std::sqrt(1 - phi * phi) * random.Normal();
      }
      sum += CorrelationTimeOf(series).tau;
    }
    const double want = (1 + phi) / (1 - phi);
    EXPECT_GT(sum / kSeries, 0.97 * want) << phi;
    EXPECT_LT(sum / kSeries, 1.2 * want) << phi;
  }
}

}  // namespace

}  // namespace idleburn
