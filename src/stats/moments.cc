#include "stats/moments.h"

#include <numeric>

#include "base/check.h"

namespace idleburn {

double MeanOf(std::span<const double> values) {
  CHECK(!values.empty());
  return std::accumulate(values.begin(), values.end(), 0.0) / static_cast<double>(values.size());
}

double SquaresAbout(std::span<const double> values, double center) {
  double squares = 0;
  for (const double value : values) squares += (value - center) * (value - center);
  return squares;
}

double VarianceOf(std::span<const double> values) {
  CHECK(values.size() > 1);
  return SquaresAbout(values, MeanOf(values)) / static_cast<double>(values.size() - 1);
}

}  // namespace idleburn
