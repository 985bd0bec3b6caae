#include "stats/quantile.h"

#include <algorithm>
#include <cmath>

#include "base/check.h"

namespace idleburn {

double SortedQuantile(std::span<const double> ascending, double p) {
  CHECK(!ascending.empty() && p >= 0 && p <= 1);
  const double position = p * static_cast<double>(ascending.size() - 1);
  const auto below = static_cast<std::size_t>(std::floor(position));
  const std::size_t above = std::min(below + 1, ascending.size() - 1);
  const double part = position - static_cast<double>(below);
  return ascending[below] + part * (ascending[above] - ascending[below]);
}

double Median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return SortedQuantile(values, 0.5);
}

}  // namespace idleburn
