#include "diagnose/late_peer.h"

#include <algorithm>
#include <map>
#include <vector>

#include "classify/thresholds.h"

namespace idleburn {

bool Spins(const Thresholds& thresholds, const DeviceResult& d, const Timeline::Bucket& bucket) {
  const std::int64_t bound = bucket.phase_ns[static_cast<std::size_t>(Phase::kComputeBound)];
  if (bound == 0 || bound * 2 < bucket.ObservedNs()) return false;
  if (d.spin.evidence == SpinVerdict::Evidence::kActivity) {
    return bucket.sm_active.Mean().value_or(kFull) < static_cast<double>(thresholds.spin_sm_below);
  }
  const std::optional<double> milliwatts = bucket.busy_power.Mean();
  return d.spin.below_watts && milliwatts && *milliwatts < 1000 * static_cast<double>(*d.spin.below_watts);
}

bool TakesPart(const DeviceTotals& totals) { return BusyPhasesNs(totals) > 0 || totals.idle_held_ns > 0; }

std::int64_t CommonWidth(const RunResult& run) {
  std::int64_t width = 1;
  for (const DeviceResult& d : run.devices) width = std::max(width, d.totals.timeline.bucket_seconds);
  return width;
}

namespace {

// Mean utilisation over [from, to) seconds; buckets of another width count where they overlap.
std::optional<double> UtilizationIn(const Timeline& t, std::int64_t from, std::int64_t to) {
  Integral sum;
  const std::int64_t width = t.bucket_seconds;
  const std::int64_t first = std::max(from / width - t.first, std::int64_t{0});
  const std::int64_t end = std::min((to + width - 1) / width - t.first, static_cast<std::int64_t>(t.buckets.size()));
  for (std::int64_t i = first; i < end; ++i) sum.Merge(t.buckets[static_cast<std::size_t>(i)].utilization);
  return sum.Mean();
}

// Number of the bucket of width `coarse` in which bucket `i` of `t` lies.
std::int64_t CoarseBucket(const Timeline& t, std::size_t i, std::int64_t coarse) {
  return (t.first + static_cast<std::int64_t>(i)) * t.bucket_seconds / coarse;
}

bool IsDim(const Thresholds& thresholds, const DeviceResult& d, const Timeline::Bucket& bucket) {
  const std::optional<double> milliwatts = bucket.busy_power.Mean();
  const std::int64_t bound = bucket.phase_ns[static_cast<std::size_t>(Phase::kComputeBound)];
  return milliwatts && bound * 2 >= bucket.ObservedNs() && d.spin.limit_mw &&
         thresholds.IsDim(static_cast<std::int64_t>(*milliwatts), *d.spin.limit_mw);
}

// The coarse buckets in which a device waits, ascending.
std::vector<std::int64_t> WaitingBuckets(const Thresholds& thresholds, const DeviceResult& d, Waiting waiting,
                                         std::int64_t coarse) {
  std::vector<std::int64_t> numbers;
  const bool spin = waiting == Waiting::kSpin;
  if ((spin ? d.spin.time.ns : d.spin.dim_ns) == 0) return numbers;
  const Timeline& t = d.totals.timeline;
  for (std::size_t i = 0; i < t.buckets.size(); ++i) {
    if (!(spin ? Spins(thresholds, d, t.buckets[i]) : IsDim(thresholds, d, t.buckets[i]))) continue;
    const std::int64_t number = CoarseBucket(t, i, coarse);
    if (numbers.empty() || numbers.back() != number) numbers.push_back(number);
  }
  return numbers;
}

}  // namespace

std::optional<LatePeer> FindLatePeer(const Scene& scene, Waiting waiting) {
  const std::int64_t width = CommonWidth(scene.run);
  std::map<std::int64_t, int> spinning;  // devices that wait, by bucket: linear in devices, not quadratic
  for (const DeviceResult& d : scene.run.devices) {
    for (const std::int64_t number : WaitingBuckets(scene.thresholds, d, waiting, width)) ++spinning[number];
  }
  Example latest(scene.cost);
  for (const DeviceResult& low : scene.run.devices) {
    if (!TakesPart(low.totals)) continue;
    const std::vector<std::int64_t> own = WaitingBuckets(scene.thresholds, low, waiting, width);
    int together = 0;
    int late = 0;
    for (const auto& [number, devices] : spinning) {
      if (devices == 1 && std::binary_search(own.begin(), own.end(), number)) continue;  // only itself
      const std::optional<double> mean = UtilizationIn(low.totals.timeline, number * width, (number + 1) * width);
      together += mean ? 1 : 0;
      late += mean && *mean < static_cast<double>(kLateBelow) ? 1 : 0;
    }
    const double share = together == 0 ? 0 : static_cast<double>(late) / together;
    if (share >= kLateShare) latest.Offer(low, share);
  }
  if (latest.best() == nullptr) return std::nullopt;
  return LatePeer{latest.best()->device, latest.has()};
}

}  // namespace idleburn
