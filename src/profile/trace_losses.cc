#include "profile/trace_losses.h"

namespace idleburn {

bool CountLosses(const TraceTally& tally, const ByteSource& in, DataQuality& quality) {
  const Place place{&in.name()};
  quality.Count(QualityId::kBadRow, place, tally.malformed);
  quality.Count(QualityId::kTooLongEvent, place, tally.too_long);
  quality.Count(QualityId::kUnclosedProfile, place, tally.unclosed ? 1 : 0);
  quality.Count(QualityId::kLostBytes, place, tally.lost_bytes);
  quality.Count(QualityId::kTruncatedInput, place, in.truncated() ? 1 : 0);
  return tally.unclosed || tally.lost_bytes > 0 || tally.too_long > 0 || tally.malformed > 0;
}

}  // namespace idleburn
