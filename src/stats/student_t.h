#pragma once

#include <optional>
#include <span>

namespace idleburn {

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

}  // namespace idleburn
