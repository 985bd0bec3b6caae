#pragma once

#include <span>

namespace idleburn {

double MeanOf(std::span<const double> values);  // of at least one
// The sum of the squares of what the values are off `center`.
double SquaresAbout(std::span<const double> values, double center);
// Of the sample, by n - 1; of at least two values.
double VarianceOf(std::span<const double> values);

}  // namespace idleburn
