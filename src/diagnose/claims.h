#pragma once

#include <algorithm>
#include <vector>

#include "classify/totals.h"
#include "diagnose/scene.h"

namespace idleburn {

// Which buckets of each device's timeline a finding has claimed as a whole, by position in RunResult::devices: no two
// findings claim the same time.
using Claims = std::vector<std::vector<bool>>;

inline Claims NoClaims(const RunResult& run) {
  Claims claims;
  for (const DeviceResult& d : run.devices) claims.emplace_back(d.totals.timeline.buckets.size(), false);
  return claims;
}

// Whether kernels ran in a bucket; less than 1 % is a context being made. A job that starves its GPU uses it all the
// same.
inline bool InUse(const Timeline::Bucket& bucket) {
  return bucket.utilization.Mean().value_or(0) >= static_cast<double>(kPercent);
}
inline bool InUse(const DeviceTotals& totals) {
  const auto& buckets = totals.timeline.buckets;
  return std::any_of(buckets.begin(), buckets.end(), [](const Timeline::Bucket& b) { return InUse(b); });
}

// Time of a bucket below 70 %.
inline std::int64_t LowNs(const Timeline::Bucket& bucket) {
  return bucket.phase_ns[static_cast<std::size_t>(Phase::kIdle)] +
         bucket.phase_ns[static_cast<std::size_t>(Phase::kUnderutilized)];
}

// Of so much low time of a bucket, what no kernel ran in: the most that a fix could give back.
inline double LostNs(const Timeline::Bucket& bucket, std::int64_t low) {
  const double used = static_cast<double>(bucket.utilization.area) / static_cast<double>(kFull);
  return std::clamp(static_cast<double>(bucket.ObservedNs()) - used, 0.0, static_cast<double>(low));
}

}  // namespace idleburn
