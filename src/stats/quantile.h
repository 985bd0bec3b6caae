#pragma once

#include <span>
#include <vector>

namespace idleburn {

// The p-quantile (0 <= p <= 1) of values in ascending order, interpolated between the two nearest (Hyndman and Fan's
// type 7, the default of R and NumPy). At least one value.
double SortedQuantile(std::span<const double> ascending, double p);

// Of values in any order. At least one value.
double Median(std::vector<double> values);

}  // namespace idleburn
