#include "fit/positive_fit.h"

#include <gtest/gtest.h>

#include <cmath>

namespace idleburn {
namespace {

// y = 2 x + 5 z, with exact rows.
PositiveFit Plane() {
  PositiveFit fit;
  fit.predict = [](std::span<const double> c, std::size_t row) {
    const double x = 1 + static_cast<double>(row);
    const double z = 10 - static_cast<double>(row);
    return c[0] * x + c[1] * z;
  };
  for (int row = 0; row < 10; ++row) fit.measured.push_back(2.0 * (1 + row) + 5.0 * (10 - row));
  fit.priors = {{1, 100}, {1, 100}};
  return fit;
}

TEST(PositiveFitTest, FindsCoefficientsOfExactRows) {
  const std::vector<double> c = FitPositiveCoefficients(Plane());
  EXPECT_NEAR(c[0], 2, 1e-4);
  EXPECT_NEAR(c[1], 5, 1e-4);
}

TEST(PositiveFitTest, OneWildRowHardlyMatters) {
  PositiveFit fit = Plane();
  fit.measured[3] *= 10;
  const std::vector<double> c = FitPositiveCoefficients(fit);
  EXPECT_NEAR(c[0], 2, 0.1);
  EXPECT_NEAR(c[1], 5, 0.1);
}

TEST(PositiveFitTest, SaysThePriorWhereRowsSayNothing) {
  PositiveFit fit = Plane();
  fit.priors.push_back({7, 1});
  EXPECT_NEAR(FitPositiveCoefficients(fit)[2], 7, 1e-9);
}

// With one row y = 4 of the model c, the logarithm's posterior is the mean weighted by precision.
TEST(PositiveFitTest, WeighsPriorAgainstRows) {
  PositiveFit fit;
  fit.predict = [](std::span<const double> c, std::size_t) { return c[0]; };
  fit.measured = {4};
  fit.noise = 1;
  fit.priors = {{1, 1}};
  EXPECT_NEAR(FitPositiveCoefficients(fit)[0], std::exp(std::log(4) / 2), 1e-6);
}

TEST(PositiveFitTest, KeepsWhatHasNoSpread) {
  PositiveFit fit = Plane();
  fit.priors[0] = {3, 0};
  EXPECT_DOUBLE_EQ(FitPositiveCoefficients(fit)[0], 3);
}

}  // namespace
}  // namespace idleburn
