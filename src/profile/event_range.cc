#include "profile/event_range.h"

#include "profile/profile.h"

namespace idleburn {

std::optional<Interval> EventRange(std::int64_t start_ns, std::int64_t end_ns, DataQuality& quality, Place place) {
  constexpr std::int64_t kFarthest = std::int64_t{1} << 61;  // beyond, differences of times could overflow
  if (start_ns < -kFarthest || start_ns > kFarthest || end_ns < -kFarthest || end_ns > kFarthest) {
    quality.Count(QualityId::kBadRow, place);
    return std::nullopt;
  }
  if (end_ns - start_ns > kLongestEventNs) {
    quality.Count(QualityId::kLongDuration, place);
    return std::nullopt;
  }
  if (end_ns < start_ns) {
    quality.Count(QualityId::kNegativeDuration, place);
    end_ns = start_ns;
  }
  return Interval{start_ns, end_ns};
}

}  // namespace idleburn
