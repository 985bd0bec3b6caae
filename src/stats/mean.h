#pragma once

#include <optional>
#include <span>

namespace idleburn {

double MeanOf(std::span<const double> values);  // of at least one
// The sum of the squares of what the values are off `center`.
double SquaresAbout(std::span<const double> values, double center);
// Of the sample, by n - 1; of at least two values.
double VarianceOf(std::span<const double> values);

struct ConfidenceInterval {
  double low = 0;
  double high = 0;
};

// P(T <= t) for Student's t with `df` > 0 degrees of freedom, which need not be whole.
double StudentTCdf(double df, double t);
// The t below which a share of 0 < p < 1 lies.
double StudentTQuantile(double df, double p);

// The interval of the mean of independent values at a confidence of 0 < level < 1, by t with n - 1 degrees of freedom;
// a point if the values are all the same. Absent for fewer than two values.
std::optional<ConfidenceInterval> IntervalOfMean(std::span<const double> values, double level);

// One of several independent terms of a variance, and what its own estimate rests on.
struct VarianceTerm {
  double variance = 0;
  double df = 1;
};

// Degrees of freedom of the sum of the terms (Welch 1947, Satterthwaite 1946); 1 where all terms are 0.
double WelchDf(std::span<const VarianceTerm> terms);
double TotalVariance(std::span<const VarianceTerm> terms);

// Half the width of a confidence sequence for a mean: with probability 1 - alpha the true mean is inside the interval
// at every n from the first look on, however often it is looked at. Normal mixture (Robbins 1970) with the running
// standard deviation in place of a known one, which holds in the limit only: a first look before 20 values is too
// early. `rho` sets at which n it is narrowest.
double SequenceHalfWidth(double n, double sigma, double alpha, double rho = 0.3);

inline constexpr int kSequenceFirstLook = 20;

// Over how many values of a series neighbours share their fate: n values carry the news of n / tau.
struct CorrelationTime {
  double tau = 1;
  int last_lag = 0;  // K: the lags that were summed

  // Degrees of freedom of the variance of a mean that rests on tau: windows of 2K + 1 values.
  [[nodiscard]] double Windows(double n) const { return n / (2 * last_lag + 1); }
};

// The sum of autocorrelations in pairs of lags (0,1), (2,3), ... as long as a pair is positive and its lags are below a
// third of the series (Geyer 1992, initial positive sequence), at least 1; then divided by 1 - (2K+1)/n, because the
// removed mean makes every autocorrelation too small. At least two values.
CorrelationTime CorrelationTimeOf(std::span<const double> series);

}  // namespace idleburn
