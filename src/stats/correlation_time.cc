#include "stats/correlation_time.h"

#include <algorithm>
#include <vector>

#include "base/check.h"
#include "stats/moments.h"

namespace idleburn {
namespace {

// Sum of products of values `lag` apart.
double LagProduct(const std::vector<double>& centred, std::size_t lag) {
  double sum = 0;
  for (std::size_t i = lag; i < centred.size(); ++i) sum += centred[i] * centred[i - lag];
  return sum;
}

}  // namespace

CorrelationTime CorrelationTimeOf(std::span<const double> series) {
  CHECK(series.size() >= 2);
  const std::size_t n = series.size();
  std::vector<double> centred(series.begin(), series.end());
  const double mean = MeanOf(series);
  for (double& value : centred) value -= mean;
  CorrelationTime time;
  const double variance = LagProduct(centred, 0);
  if (variance > 0) {
    double pairs = 0;
    for (std::size_t lag = 0; 3 * (lag + 1) < n; lag += 2) {
      const double even = lag == 0 ? variance : LagProduct(centred, lag);
      const double pair = (even + LagProduct(centred, lag + 1)) / variance;
      if (pair <= 0) break;
      pairs += pair;
      time.last_lag = static_cast<int>(lag + 1);
    }
    time.tau = std::max(1.0, 2 * pairs - 1);
  }
  time.tau /= 1 - 1 / time.Windows(static_cast<double>(n));
  return time;
}

}  // namespace idleburn
