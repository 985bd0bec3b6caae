#pragma once

#include <optional>
#include <span>
#include <vector>

namespace idleburn {

// The fit y = sum of coefficient x column, by ordinary least squares. Verdicts use it to compare sides with drift
// taken out (verify), so the standard errors matter as much as the coefficients.
struct LeastSquares {
  std::vector<double> coefficients;
  std::vector<double> errors;  // standard errors, if the residuals are independent
  std::vector<double> residuals;
  double residual_variance = 0;  // sum of squared residuals / df
  double df = 0;                 // rows - columns
};

// Fits `y`. Each column has one value per row; a constant term is a column of ones. Absent without more rows than
// columns, or if a column is a combination of earlier ones.
//
//     columns {1, 1, 1}, {0, 1, 2}  and  y {1, 3, 5}   ->   coefficients {1, 2}, residuals 0
std::optional<LeastSquares> FitLeastSquares(std::span<const std::vector<double>> columns, std::span<const double> y);

}  // namespace idleburn
