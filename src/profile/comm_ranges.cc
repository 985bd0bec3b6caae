#include "profile/comm_ranges.h"

#include <algorithm>

namespace idleburn {
namespace {

// Ranges that may begin between the start of a collective's range and its launch. More are not looked at.
constexpr std::ptrdiff_t kMostInside = 256;

}  // namespace

bool CommRanges::any() const {
  return std::any_of(threads_.begin(), threads_.end(), [](const Track& track) { return !track.ranges.empty(); });
}

// Ranges of a thread nest. So the last one that began before the call and still lasts is the innermost.
std::optional<CommRanges::Under> CommRanges::At(std::uint32_t thread, std::int64_t time) const {
  if (thread >= threads_.size() || !threads_[thread].ordered) return std::nullopt;
  const std::vector<Range>& ranges = threads_[thread].ranges;
  auto range = std::upper_bound(ranges.begin(), ranges.end(), time,
                                [](std::int64_t t, const Range& r) { return t < r.at.start; });
  const auto stop = range - std::min(kMostInside, range - ranges.begin());
  std::optional<Under> under;
  bool innermost = true;
  while (range != stop) {
    --range;
    if (range->at.end <= time) continue;
    if (range->comm && !under) under = Under{innermost, {}};
    innermost = false;
    if (!range->comm) continue;
    under->collective = range->collective;
    if (!range->collective.empty()) break;
  }
  return under;
}

}  // namespace idleburn
