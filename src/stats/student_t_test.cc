#include "stats/student_t.h"

#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <vector>

namespace idleburn {
namespace {

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

}  // namespace
}  // namespace idleburn
