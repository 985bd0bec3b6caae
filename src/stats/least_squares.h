#pragma once

#include <optional>
#include <span>
#include <vector>

namespace idleburn {

// y = sum of coefficient x column, by ordinary least squares.
struct LeastSquares {
  std::vector<double> coefficients;
  std::vector<double> errors;  // standard errors, of independent residuals
  std::vector<double> residuals;
  double residual_variance = 0;  // with df
  double df = 0;                 // rows - columns
};

// Each column has one value a row; a constant is a column of ones. Absent if there are not more rows than columns, or a
// column is a combination of those before it.
std::optional<LeastSquares> FitLeastSquares(std::span<const std::vector<double>> columns, std::span<const double> y);

}  // namespace idleburn
