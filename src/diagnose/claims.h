#pragma once

#include <algorithm>
#include <utility>
#include <vector>

#include "classify/totals.h"
#include "diagnose/scene.h"
#include "diagnose/waste_left.h"

namespace idleburn {

// What findings have claimed: no two claim the same time, or the same waste.
struct Claims {
  Claims(const RunResult& run, WasteLeft left) : waste(std::move(left)) {
    for (const DeviceResult& d : run.devices) buckets.emplace_back(d.totals.timeline.buckets.size(), false);
  }

  std::vector<std::vector<bool>> buckets;  // of each timeline, by position in RunResult::devices: claimed as a whole
  WasteLeft waste;
};

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
