#include "recommend/recovered_share.h"

#include <algorithm>
#include <array>
#include <cstdio>
#include <numeric>

namespace idleburn {

RecoveredShare RecoveredShares::Of(std::string_view lever) const {
  const auto found = own_.find(lever);
  if (found == own_.end() || found->second.shares.size() < kFewestOwn) return {kPriorMean, 0, 0};
  const std::vector<double>& shares = found->second.shares;
  const double sum = std::accumulate(shares.begin(), shares.end(), 0.0);
  const auto count = static_cast<double>(shares.size());
  return {(kPriorWeight * kPriorMean + sum) / (kPriorWeight + count), static_cast<int>(shares.size()),
          found->second.verified};
}

std::string Describe(const RecoveredShare& share) {
  if (share.own == 0) return "0.8 of it";
  std::array<char, 160> text{};
  if (share.verified == share.own) {
    std::snprintf(text.data(), text.size(), "%.2f of it from %d of your own verified changes, prior %.2f", share.mean,
                  share.own, RecoveredShares::kPriorMean);
  } else {
    std::snprintf(text.data(), text.size(),
                  "%.2f of it from %d of your own changes (%d verified, the others made it dearer), prior %.2f",
                  share.mean, share.own, share.verified, RecoveredShares::kPriorMean);
  }
  return text.data();
}

// The mean of Beta(a,1) is a / (a + 1).
double ShapeOf(const RecoveredShare& share) {
  if (share.own == 0) return 4;  // Beta(4,1), exactly
  const double mean = std::clamp(share.mean, 0.01, 0.99);
  return mean / (1 - mean);
}

}  // namespace idleburn
