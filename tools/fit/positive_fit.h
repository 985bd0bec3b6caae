#pragma once

#include <cstddef>
#include <functional>
#include <span>
#include <vector>

namespace idleburn {

// A positive coefficient before anything is measured: its likeliest value, and how far from it, as a standard
// deviation of its logarithm, one would still believe it. A spread of 0 keeps it where it is.
struct CoefficientPrior {
  double value = 1;
  double spread = 1;
};

// What is fitted: measured positive values, and a model that predicts each of them from the coefficients.
struct PositiveFit {
  std::function<double(std::span<const double> coefficients, std::size_t row)> predict;
  std::vector<double> measured;
  std::vector<double> weights;  // one a row; empty: all 1
  std::vector<CoefficientPrior> priors;
  double noise = 0.05;  // relative error that a right model still makes on a row
};

// The coefficients, all positive, that minimise sum w x huber(log(predicted / measured) / noise) + sum
// (log(c / prior) / spread)^2: least squares in relative error in which single wild rows count by their distance only,
// and which says the prior where the rows say nothing. Levenberg-Marquardt over the logarithms; deterministic.
std::vector<double> FitPositiveCoefficients(const PositiveFit& fit);

}  // namespace idleburn
