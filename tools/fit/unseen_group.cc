#include "fit/unseen_group.h"

#include <algorithm>
#include <cmath>

#include "stats/order.h"

namespace idleburn {

std::optional<ConfidenceInterval> IntervalOfUnseenGroup(std::span<const std::vector<double>> groups, double level) {
  if (groups.size() < 2) return std::nullopt;
  std::vector<double> means;
  std::vector<double> within;
  for (const std::vector<double>& group : groups) {
    means.push_back(MeanOf(group));
    for (const double value : group) within.push_back(value - means.back());
  }
  std::sort(within.begin(), within.end());
  const double tail = (1 - level) / 2;
  const auto k = static_cast<double>(groups.size());
  const double between = StudentTQuantile(k - 1, 1 - tail) * std::sqrt(VarianceOf(means) * (1 + 1 / k));
  const double center = MeanOf(means);
  return ConfidenceInterval{center - std::hypot(SortedQuantile(within, tail), between),
                            center + std::hypot(SortedQuantile(within, 1 - tail), between)};
}

}  // namespace idleburn
