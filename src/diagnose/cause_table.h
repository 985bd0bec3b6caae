#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/money.h"
#include "classify/totals.h"
#include "diagnose/scene.h"
#include "price/cost_report.h"

// The causes of lost GPU time, and a finding: one cause with the evidence of a run. To add a cause, add a row
// to the table; docs/diagnosis.md and the tests name every row.
namespace idleburn {
// How sure a finding is. Confirmed: two independent signals agree, or one signal is proof. Likely: one signal
// suggests it. Unknown: time was lost, and the cause is not shown.
enum class Status : std::uint8_t { kConfirmed, kLikely, kUnknown };
std::string_view Name(Status s);

// Why GPU time was lost, with what shows it and what would refute it. Samples, traces and the host's signals all end
// in findings. Reports print them, and recommend/advice.h turns them into levers.
struct Finding {
  // Id in the cause table: "idle_held", "spin_wait", "throttling", "unknown", ...
  std::string_view cause;
  std::string title;  // one short sentence for people
  Status status = Status::kUnknown;
  double share = 0;  // of observed time, or of the traced window: see of_run
  // Each names its counter, value and threshold.
  std::vector<std::string> evidence;
  // What would refute it, measured or not.
  std::vector<std::string> refutes;
  // The next measurement, or the one setting that isolates the cause.
  std::string isolate;
  std::int64_t gpu_ns = 0;         // GPU time in which it was seen
  std::optional<Money> time_cost;  // the cost of that time
  // Waste in that time that this cause explains; 0 for a cause of busy time.
  std::int64_t waste_ns = 0;
  std::optional<Money> cost;  // of that waste; all findings together cost at most the waste
  // Share of observed time that a fix can give back at most; 0: unknown.
  double bound = 0;
  // The share of the run's observed time, for a cause that only a trace of part of the run shows. `share` is
  // then of the traced window.
  std::optional<double> of_run;

  // The share that findings are compared by, and that `bound` is a part of.
  [[nodiscard]] double ShareOfRun() const { return of_run.value_or(share); }
};

// Disjoint pools of time. Fixes in one pool compete for the same time, so their savings do not add up.
enum class Pool : std::uint8_t {
  kNone,
  kLoader,
  kCopy,
  kLaunch,
  kComm,
  kSync,
  kCheckpoint,
  kThrottle,
  kMemory,
  kIdle,
  kSpin,
  kCompute
};

// A cause of lost GPU time: what shows it, what refutes it, the one setting that isolates it, and its levers in order
// of preference. The levers of one cause recover the same time. Samples and traces name causes by the same rows, so
// two that agree confirm one finding.
struct Cause {
  std::string_view id;
  std::string_view title;
  Pool pool;
  std::string_view evidence;
  std::string_view refuted;
  std::string_view isolate;
  std::array<std::string_view, 6> levers;  // unused elements are empty
};

// All causes. docs/diagnosis.md explains each.
std::span<const Cause> Causes();
// The cause with this id, which must exist.
const Cause& CauseById(std::string_view id);

// How a finding is made, and how findings share time, waste and money without counting anything twice. Every
// function that looks for a cause claims its time here before the next one runs.

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
