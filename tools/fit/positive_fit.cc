#include "fit/positive_fit.h"

#include <algorithm>
#include <cmath>

#include "base/result.h"

namespace idleburn {
namespace {

constexpr double kHuber = 1.5;  // in units of the noise: beyond it a row pulls with constant force
constexpr double kStep = 1e-5;  // of the numeric derivative, in the logarithm
constexpr int kMostSteps = 200;
constexpr double kMostMove = 1.0;  // of a logarithm in one step

using Matrix = std::vector<std::vector<double>>;

// Solves a x = b for a symmetric positive definite matrix by Cholesky's decomposition.
std::vector<double> SolveDefinite(Matrix a, std::vector<double> b) {
  const std::size_t n = b.size();
  for (std::size_t i = 0; i < n; ++i) {
    for (std::size_t j = 0; j <= i; ++j) {
      double sum = a[i][j];
      for (std::size_t k = 0; k < j; ++k) sum -= a[i][k] * a[j][k];
      a[i][j] = i == j ? std::sqrt(std::max(sum, 1e-300)) : sum / a[j][j];
    }
  }
  for (std::size_t i = 0; i < n; ++i) {
    for (std::size_t k = 0; k < i; ++k) b[i] -= a[i][k] * b[k];
    b[i] /= a[i][i];
  }
  for (std::size_t i = n; i-- > 0;) {
    for (std::size_t k = i + 1; k < n; ++k) b[i] -= a[k][i] * b[k];
    b[i] /= a[i][i];
  }
  return b;
}

std::vector<double> Exp(std::span<const double> logs) {
  std::vector<double> values;
  for (const double log : logs) values.push_back(std::exp(log));
  return values;
}

class Search {
 public:
  explicit Search(const PositiveFit& fit) : fit_(fit) {
    for (const CoefficientPrior& prior : fit.priors) {
      CHECK(prior.value > 0 && prior.spread >= 0);
      at_.push_back(std::log(prior.value));
    }
    centre_ = at_;
  }

  std::vector<double> Run() {
    double cost = Cost(at_);
    double damping = 1e-3;
    for (int step = 0; step < kMostSteps && damping < 1e12; ++step) {
      const std::vector<double> next = Step(damping);
      const double next_cost = Cost(next);
      if (!(next_cost < cost)) {
        damping *= 10;
        continue;
      }
      const bool settled = cost - next_cost < 1e-10 * (1 + cost);
      at_ = next;
      cost = next_cost;
      damping = std::max(damping / 5, 1e-9);
      if (settled) break;
    }
    return Exp(at_);
  }

 private:
  [[nodiscard]] double Weight(std::size_t row) const { return fit_.weights.empty() ? 1 : fit_.weights[row]; }

  // The residual of a row in units of the noise.
  [[nodiscard]] double Residual(std::span<const double> coefficients, std::size_t row) const {
    return std::log(fit_.predict(coefficients, row) / fit_.measured[row]) / fit_.noise;
  }

  [[nodiscard]] double Cost(std::span<const double> logs) const {
    const std::vector<double> values = Exp(logs);
    double cost = 0;
    for (std::size_t row = 0; row < fit_.measured.size(); ++row) {
      const double r = std::abs(Residual(values, row));
      cost += Weight(row) * (r < kHuber ? r * r : 2 * kHuber * r - kHuber * kHuber);
    }
    for (std::size_t i = 0; i < logs.size(); ++i) {
      if (fit_.priors[i].spread > 0) cost += std::pow((logs[i] - centre_[i]) / fit_.priors[i].spread, 2);
    }
    return cost;
  }

  [[nodiscard]] std::vector<double> Step(double damping) const {
    const std::size_t n = at_.size();
    Matrix normal(n, std::vector<double>(n, 0));
    std::vector<double> pull(n, 0);
    const std::vector<double> values = Exp(at_);
    std::vector<double> slope(n);
    for (std::size_t row = 0; row < fit_.measured.size(); ++row) {
      const double r = Residual(values, row);
      const double weight = Weight(row) * (std::abs(r) < kHuber ? 1 : kHuber / std::abs(r));
      for (std::size_t i = 0; i < n; ++i) {
        std::vector<double> moved = values;
        moved[i] *= std::exp(kStep);
        slope[i] = fit_.priors[i].spread > 0 ? (Residual(moved, row) - r) / kStep : 0;
      }
      for (std::size_t i = 0; i < n; ++i) {
        pull[i] -= weight * slope[i] * r;
        for (std::size_t j = 0; j < n; ++j) normal[i][j] += weight * slope[i] * slope[j];
      }
    }
    for (std::size_t i = 0; i < n; ++i) {
      const double spread = fit_.priors[i].spread;
      normal[i][i] += spread > 0 ? 1 / (spread * spread) : 1;
      if (spread > 0) pull[i] -= (at_[i] - centre_[i]) / (spread * spread);
      normal[i][i] *= 1 + damping;
    }
    std::vector<double> next = SolveDefinite(std::move(normal), std::move(pull));
    for (std::size_t i = 0; i < n; ++i) next[i] = at_[i] + std::clamp(next[i], -kMostMove, kMostMove);
    return next;
  }

  const PositiveFit& fit_;
  std::vector<double> at_;
  std::vector<double> centre_;
};

}  // namespace

std::vector<double> FitPositiveCoefficients(const PositiveFit& fit) {
  CHECK(fit.weights.empty() || fit.weights.size() == fit.measured.size());
  return Search(fit).Run();
}

}  // namespace idleburn
