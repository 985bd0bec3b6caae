#include "stats/least_squares.h"

#include <gtest/gtest.h>

#include <array>
#include <cmath>

#include "stats/random.h"

namespace idleburn {
namespace {

// Anscombe 1973, first data set, with the figures printed there and by R.
TEST(LeastSquaresTest, MatchesAPublishedRegression) {
  const std::vector<std::vector<double>> columns = {std::vector<double>(11, 1.0),
                                                    {10, 8, 13, 9, 11, 14, 6, 4, 12, 7, 5}};
  const std::vector<double> y = {8.04, 6.95, 7.58, 8.81, 8.33, 9.96, 7.24, 4.26, 10.84, 4.82, 5.68};
  const std::optional<LeastSquares> fit = FitLeastSquares(columns, y);
  ASSERT_TRUE(fit);
  EXPECT_NEAR(fit->coefficients[0], 3.0001, 5e-5);
  EXPECT_NEAR(fit->coefficients[1], 0.5001, 5e-5);
  EXPECT_NEAR(fit->errors[1], 0.118, 5e-4);
  EXPECT_NEAR(fit->residual_variance * fit->df, 13.763, 5e-4);
  EXPECT_EQ(fit->df, 9);
}

using Matrix3 = std::array<std::array<double, 3>, 3>;

double Determinant(const Matrix3& m) {
  return m[0][0] * (m[1][1] * m[2][2] - m[1][2] * m[2][1]) - m[0][1] * (m[1][0] * m[2][2] - m[1][2] * m[2][0]) +
         m[0][2] * (m[1][0] * m[2][1] - m[1][1] * m[2][0]);
}

// The normal equations X'X b = X'y by Cramer's rule, and s^2 (X'X)^-1 by cofactors: another way to the same figures.
TEST(LeastSquaresTest, SolvesTheNormalEquations) {
  Random random(3);
  for (int repetition = 0; repetition < 20; ++repetition) {
    constexpr std::size_t kRows = 15;
    std::vector<std::vector<double>> columns(3);
    std::vector<double> y;
    for (std::size_t i = 0; i < kRows; ++i) {
      columns[0].push_back(1);
      columns[1].push_back(static_cast<double>(i) + random.Normal());
      columns[2].push_back(i < 7 ? 0 : 1);
      y.push_back(3 - 0.5 * columns[1][i] + 2 * columns[2][i] + random.Normal());
    }
    Matrix3 cross{};
    std::array<double, 3> right{};
    for (std::size_t a = 0; a < 3; ++a) {
      for (std::size_t i = 0; i < kRows; ++i) {
        right[a] += columns[a][i] * y[i];
        for (std::size_t b = 0; b < 3; ++b) cross[a][b] += columns[a][i] * columns[b][i];
      }
    }
    const std::optional<LeastSquares> fit = FitLeastSquares(columns, y);
    ASSERT_TRUE(fit);
    double squares = 0;
    for (const double residual : fit->residuals) squares += residual * residual;
    EXPECT_NEAR(fit->residual_variance, squares / 12, 1e-12);
    for (std::size_t a = 0; a < 3; ++a) {
      Matrix3 replaced = cross;
      for (std::size_t row = 0; row < 3; ++row) replaced[row][a] = right[row];
      EXPECT_NEAR(fit->coefficients[a], Determinant(replaced) / Determinant(cross), 1e-9);
      const std::size_t p = a == 0 ? 1 : 0;
      const std::size_t q = a == 2 ? 1 : 2;
      const double cofactor = cross[p][p] * cross[q][q] - cross[p][q] * cross[q][p];
      EXPECT_NEAR(fit->errors[a], std::sqrt(fit->residual_variance * cofactor / Determinant(cross)), 1e-9);
    }
    for (std::size_t i = 0; i < kRows; ++i) {
      const double fitted =
          fit->coefficients[0] + fit->coefficients[1] * columns[1][i] + fit->coefficients[2] * columns[2][i];
      EXPECT_NEAR(fit->residuals[i], y[i] - fitted, 1e-9);
    }
  }
}

TEST(LeastSquaresTest, RefusesWhatHasNoAnswer) {
  const std::vector<double> ones(4, 1.0);
  const std::vector<double> y = {1, 2, 3, 4};
  EXPECT_FALSE(FitLeastSquares(std::vector<std::vector<double>>{ones, std::vector<double>(4, 7.0)}, y));
  EXPECT_FALSE(FitLeastSquares(std::vector<std::vector<double>>{ones, {1, 2, 3, 4}, {2, 4, 6, 8}}, y));
  EXPECT_FALSE(FitLeastSquares(std::vector<std::vector<double>>{ones, {1, 2, 3, 4}, {1, 4, 9, 16}, {1, 8, 27, 64}}, y));
}

// Steps of nanoseconds since 1970 beside a column of ones.
TEST(LeastSquaresTest, KeepsFarFromZeroWhatIsCloseTogether) {
  std::vector<std::vector<double>> columns(2);
  std::vector<double> y;
  for (int i = 0; i < 10; ++i) {
    columns[0].push_back(1);
    columns[1].push_back(1e6 + i);
    y.push_back(4 + 3.0 * i);
  }
  const std::optional<LeastSquares> fit = FitLeastSquares(columns, y);
  ASSERT_TRUE(fit);
  EXPECT_NEAR(fit->coefficients[1], 3, 1e-6);
}

}  // namespace
}  // namespace idleburn
