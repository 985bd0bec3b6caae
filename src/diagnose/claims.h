#pragma once

#include <vector>

#include "classify/totals.h"

namespace idleburn {

// Which buckets of each device's timeline a finding has claimed as a whole, by position in RunResult::devices: no two
// findings claim the same time.
using Claims = std::vector<std::vector<bool>>;

inline Claims NoClaims(const RunResult& run) {
  Claims claims;
  for (const DeviceResult& d : run.devices) claims.emplace_back(d.totals.timeline.buckets.size(), false);
  return claims;
}

// Time of a bucket below 70 %.
inline std::int64_t LowNs(const Timeline::Bucket& bucket) {
  return bucket.phase_ns[static_cast<std::size_t>(Phase::kIdle)] +
         bucket.phase_ns[static_cast<std::size_t>(Phase::kUnderutilized)];
}

}  // namespace idleburn
