// How a finding is made, and how findings share time, waste and money without counting anything twice. Every
// function that looks for a cause claims its time here before the next one runs.

#pragma once

#include <algorithm>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "classify/totals.h"
#include "diagnose/cause_table.h"
#include "diagnose/scene.h"
#include "price/cost_report.h"

namespace idleburn {

// GPU-nanoseconds of each device.
using DeviceShares = std::map<DeviceId, std::int64_t>;

// Reduces `whole` to `ns` in total, in the same proportions.
DeviceShares PartOf(DeviceShares whole, std::int64_t ns);

// The waste in GPU-nanoseconds: observed time without a kernel, and spin-wait (docs/money.md).
double WastedNs(const UsageCost& usage);

// The waste of each device that no finding has claimed yet. A finding takes at most what is left, so the
// findings together never cost more than the waste (docs/money.md). Example: 100 s of waste remain. A finding
// that claims 120 s gets 100 s, and the next one gets none.
class WasteLeft {
 public:
  explicit WasteLeft(const CostReport& cost);

  // Assigns up to `wasted` of each device's waste to the finding, with its cost.
  void Charge(const DeviceShares& wasted, Finding& finding);
  // The same if the devices are unknown: each contributes in proportion to the waste it has left.
  void Charge(std::int64_t wasted_ns, Finding& finding);
  [[nodiscard]] const DeviceShares& left() const { return left_; }

 private:
  const CostReport* cost_;
  DeviceShares left_;
  Money money_;  // the cost of the remaining waste
};

// A cause must hold at least this share of observed time to be named. It is the lowest threshold that
// comparable tools use.
inline constexpr double kMaterialShare = 0.03;

// Starts a finding from its row of the cause table: title, share, refuters and next step. The caller adds
// evidence, bound and waste. `where` holds the devices that lost the time and their proportions; if empty, all
// devices as observed.
Finding MakeFinding(const Scene& scene, std::string_view cause, Status status, std::int64_t gpu_ns,
                    const DeviceShares& where = {});

// The cost of GPU time on these devices at their rates. Absent if none has a rate.
std::optional<Money> CostOfTime(const CostReport& cost, std::int64_t gpu_ns, const DeviceShares& where = {});

// Sorts by the waste that findings explain, largest first; by its cost if hours have several prices. Ties are
// sorted by time.
void SortByLoss(const CostReport& cost, std::vector<Finding>& findings);

// Nanoseconds as seconds.
double Seconds(std::int64_t ns);

// The counter of a signal, from the first device that has readings of it.
std::string CounterOf(const Scene& scene, Signal s);

// What findings have claimed so far. No two findings claim the same time or the same waste.
struct Claims {
  Claims(const RunResult& run, WasteLeft left) : waste(std::move(left)) {
    for (const DeviceResult& d : run.devices) buckets.emplace_back(d.totals.timeline.buckets.size(), false);
  }

  // Buckets of each timeline that are claimed as a whole, by position in RunResult::devices.
  std::vector<std::vector<bool>> buckets;
  WasteLeft waste;
};

// Whether kernels ran in a bucket. Less than 1 % is the creation of a context. A job that starves its GPU still
// uses it.
inline bool InUse(const Timeline::Bucket& bucket) {
  return bucket.utilization.Mean().value_or(0) >= static_cast<double>(kPercent);
}
// Whether kernels ran on the device at any time.
inline bool InUse(const DeviceTotals& totals) {
  const auto& buckets = totals.timeline.buckets;
  return std::any_of(buckets.begin(), buckets.end(), [](const Timeline::Bucket& b) { return InUse(b); });
}

// Time of a bucket with utilization below 70 %.
inline std::int64_t LowNs(const Timeline::Bucket& bucket) {
  return bucket.phase_ns[kIdlePhase] + bucket.phase_ns[kUnderutilizedPhase];
}

// The part of `low` time of a bucket without any kernel: the most that a fix could give back.
inline double LostNs(const Timeline::Bucket& bucket, std::int64_t low) {
  const double used = static_cast<double>(bucket.utilization.area) / static_cast<double>(kFull);
  return std::clamp(static_cast<double>(bucket.ObservedNs()) - used, 0.0, static_cast<double>(low));
}

}  // namespace idleburn
