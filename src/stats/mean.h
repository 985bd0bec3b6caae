#pragma once

#include <optional>
#include <span>

namespace idleburn {

// How well a mean is known: moments, Student's t, Welch's degrees of freedom, confidence sequences, and the
// correlation of a series with itself. The verdicts of verify rest on these (docs/verification.md), and so do the
// errors of forecasts.

// The mean of at least one value.
double MeanOf(std::span<const double> values);
// The sum of squared differences from `center`: for 2, 4, 9 about 5 it is 9 + 1 + 16.
double SquaresAbout(std::span<const double> values, double center);
// The variance of a sample, with divisor n - 1. At least two values.
double VarianceOf(std::span<const double> values);

// An interval that contains the true value with a stated probability.
struct ConfidenceInterval {
  double low = 0;
  double high = 0;
};

// P(T <= t) of Student's t. `df` > 0 need not be an integer: WelchDf gives fractions.
double StudentTCdf(double df, double t);
// The p-quantile of Student's t, 0 < p < 1.
double StudentTQuantile(double df, double p);

// The confidence interval of the mean of independent values, by t with n - 1 degrees of freedom. 0 < level < 1. For 4,
// 5, 9 at 0.95 it is 6 -+ 4.3027 sqrt(7/3). It is a point if all values are equal, and absent for fewer than two.
std::optional<ConfidenceInterval> IntervalOfMean(std::span<const double> values, double level);

// One of several independent terms of a variance, with the degrees of freedom of its estimate: for example, the
// variance between runs of one side.
struct VarianceTerm {
  double variance = 0;
  double df = 1;
};

// The degrees of freedom of the sum of the terms (Welch 1947, Satterthwaite 1946): (sum v)^2 / sum (v^2 / df). It is
// 1 if all terms are 0. For the terms (3, df 2) and (1, df 6) it is 16 / (9/2 + 1/6), about 3.43.
double WelchDf(std::span<const VarianceTerm> terms);
// The sum of the variances.
double TotalVariance(std::span<const VarianceTerm> terms);

// Half the width of a confidence sequence for a mean. With probability 1 - alpha the true mean lies inside at every n
// from the first look on, so one may look after each value. Formula: normal mixture (Robbins 1970). It uses the running
// standard deviation `sigma` instead of a known one, which is valid for large n only. `rho` sets the n at which the
// sequence is narrowest.
double SequenceHalfWidth(double n, double sigma, double alpha, double rho = 0.3);
// The first look must not come before this many values.

inline constexpr int kSequenceFirstLook = 20;

// The autocorrelation time of a series: n correlated values inform as much as n / tau independent ones. Steps of a
// job next to each other are alike, so counting them as independent would make every interval too narrow.
struct CorrelationTime {
  double tau = 1;
  int last_lag = 0;  // K, the last lag that was summed

  // The degrees of freedom of the variance of the mean: n values make this many windows of 2K + 1.
  [[nodiscard]] double Windows(double n) const { return n / (2 * last_lag + 1); }
};

// Estimates the autocorrelation time of at least two values (Geyer 1992, initial positive sequence). It sums
// autocorrelations in pairs of lags (0,1), (2,3), ... while a pair is positive and its lags are below n / 3. The sum is
// at least 1. It is divided by 1 - (2K+1)/n, because removing the mean makes every autocorrelation too small.
CorrelationTime CorrelationTimeOf(std::span<const double> series);

}  // namespace idleburn
