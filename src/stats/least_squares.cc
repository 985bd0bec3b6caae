#include "stats/least_squares.h"

#include <cmath>
#include <numeric>

#include "base/result.h"

namespace idleburn {
namespace {

// A column counts as dependent on those before it if this share of its length, or less, is left beside them.
constexpr double kDependent = 1e-10;  // of a column's length left beside those before it

// The sum of products.
double Dot(std::span<const double> a, std::span<const double> b) {
  return std::inner_product(a.begin(), a.end(), b.begin(), 0.0);
}

// values -= factor x from, element by element.
void Subtract(double factor, std::span<const double> from, std::vector<double>& values) {
  for (std::size_t i = 0; i < values.size(); ++i) values[i] -= factor * from[i];
}

// Decomposes the columns into Q R by modified Gram-Schmidt. It removes each direction twice, because one pass leaves
// rounding errors when columns are nearly dependent.
struct Triangle {
  std::vector<std::vector<double>> q;
  std::vector<std::vector<double>> r;  // r[i][j], i <= j
};

// Absent if the columns are dependent. The normal equations were not used: they square the condition of the columns.
std::optional<Triangle> Orthogonalise(std::span<const std::vector<double>> columns) {
  const std::size_t k = columns.size();
  Triangle t{{}, std::vector<std::vector<double>>(k, std::vector<double>(k, 0))};
  for (std::size_t j = 0; j < k; ++j) {
    std::vector<double> rest = columns[j];
    const double length = std::sqrt(Dot(rest, rest));
    for (int pass = 0; pass < 2; ++pass) {
      for (std::size_t i = 0; i < j; ++i) {
        const double part = Dot(t.q[i], rest);
        t.r[i][j] += part;
        Subtract(part, t.q[i], rest);
      }
    }
    t.r[j][j] = std::sqrt(Dot(rest, rest));
    if (!(t.r[j][j] > kDependent * length)) return std::nullopt;
    for (double& value : rest) value /= t.r[j][j];
    t.q.push_back(std::move(rest));
  }
  return t;
}

// Solves R x = b from the last row up.
std::vector<double> BackSubstitute(const Triangle& t, std::vector<double> b) {
  for (std::size_t i = b.size(); i-- > 0;) {
    for (std::size_t j = i + 1; j < b.size(); ++j) b[i] -= t.r[i][j] * b[j];
    b[i] /= t.r[i][i];
  }
  return b;
}

}  // namespace

// Projects y on the directions one after another. What is left are the residuals.
std::optional<LeastSquares> FitLeastSquares(std::span<const std::vector<double>> columns, std::span<const double> y) {
  for (const std::vector<double>& column : columns) CHECK(column.size() == y.size());
  const std::size_t k = columns.size();
  if (y.size() <= k) return std::nullopt;
  const std::optional<Triangle> t = Orthogonalise(columns);
  if (!t) return std::nullopt;
  LeastSquares fit;
  fit.df = static_cast<double>(y.size() - k);
  fit.residuals.assign(y.begin(), y.end());
  std::vector<double> projected(k);
  for (std::size_t j = 0; j < k; ++j) {
    projected[j] = Dot(t->q[j], fit.residuals);
    Subtract(projected[j], t->q[j], fit.residuals);
  }
  fit.coefficients = BackSubstitute(*t, std::move(projected));
  fit.residual_variance = Dot(fit.residuals, fit.residuals) / fit.df;
  // The covariance is s^2 (R'R)^-1 = s^2 R^-1 R^-T; its diagonal is the squared length of the rows of R^-1.
  fit.errors.assign(k, 0);
  for (std::size_t j = 0; j < k; ++j) {
    std::vector<double> unit(k, 0);
    unit[j] = 1;
    const std::vector<double> column = BackSubstitute(*t, std::move(unit));
    for (std::size_t i = 0; i < k; ++i) fit.errors[i] += column[i] * column[i];
  }
  for (double& error : fit.errors) error = std::sqrt(fit.residual_variance * error);
  return fit;
}

}  // namespace idleburn
