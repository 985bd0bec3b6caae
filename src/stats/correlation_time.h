#pragma once

#include <span>

namespace idleburn {

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
