#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "classify/thresholds.h"
#include "classify/totals.h"
#include "diagnose/trace_diagnosis.h"
#include "price/cost_report.h"
#include "telemetry/device.h"
#include "telemetry/host.h"

// Everything that diagnosis looks at, in one struct, and how its sentences name devices, counters and shares.
namespace idleburn {
// Phases as indices of arrays by phase.
inline constexpr auto kIdlePhase = static_cast<std::size_t>(Phase::kIdle);
inline constexpr auto kUnderutilizedPhase = static_cast<std::size_t>(Phase::kUnderutilized);
inline constexpr auto kProductivePhase = static_cast<std::size_t>(Phase::kProductive);
inline constexpr auto kBoundPhase = static_cast<std::size_t>(Phase::kComputeBound);

// What is known about the machine besides the readings of its GPUs.
struct MachineView {
  const HostTimeline* host = nullptr;  // null: nothing was read of the host
  // Bytes a second that the PCIe link of each device can move in one direction, by DeviceId. 0 or a missing
  // element means unknown.
  std::vector<std::int64_t> link_speed;
  // The command that was run or watched; empty if none or unknown.
  std::string command;
};

// A classified and priced run, as the diagnosis sees it. Refers to its parts and must not outlive them.
struct Scene {
  const RunResult& run;
  const DeviceTable& devices;
  const CostReport& cost;
  MachineView machine = {};
  const TraceDiagnosis* trace = nullptr;  // of the run or of a part of it
  // The run is what the trace covers: there are no samples.
  bool traced_only = false;
  Thresholds thresholds = {};  // those that classified the run

  // As a share of observed GPU time; 0 if nothing was observed.
  [[nodiscard]] double Share(std::int64_t gpu_ns) const;
  // Converts observed nanoseconds of a device to GPU-nanoseconds. A MIG instance counts by its slices. Its
  // board counts only for the time in which it was one GPU. Example: 7 s of one of 7 slices are 1 GPU-second.
  [[nodiscard]] std::int64_t Weighted(std::int64_t ns, DeviceId id) const;
  // The "<source>.<field>" that supplied a signal; the signal's own name if no source named it.
  [[nodiscard]] std::string Counter(const DeviceResult& d, Signal s) const;
  // The counter that decided the phases, from the first device that has one. "First" is by place here and
  // below, so the order in which inputs were read changes no output.
  [[nodiscard]] std::string BusyCounter() const;
  // "GPU 3": by index, else UUID, else position. "n1 GPU 3" if there are several hosts.
  [[nodiscard]] std::string NameOf(DeviceId id) const;
  // "GPU 0, GPU 1, GPU 2, GPU 3 and 3 more"
  [[nodiscard]] std::string ListOf(std::vector<DeviceId> gpus) const;
};

// Selects the device that illustrates a finding: the one with the most, and of equals the first by place.
class Example {
 public:
  explicit Example(const CostReport& cost) : cost_(cost) {}
  // Offers a device that has this much.
  void Offer(const DeviceResult& d, double has = 0);
  // The selected device; null if none was offered.
  [[nodiscard]] const DeviceResult* best() const { return best_; }
  [[nodiscard]] double has() const { return has_; }

 private:
  const CostReport& cost_;
  const DeviceResult* best_ = nullptr;
  double has_ = 0;
};

// A threshold as written in a sentence: "10", "7.5".
std::string InPercent(std::int64_t micro_percent);

// Time in all phases except idle.
std::int64_t BusyPhasesNs(const DeviceTotals& totals);

// Sets of instants of a traced window, described by what is true of them.

// What is true of an instant of a window: about the device, about the idle gap it lies in, and about the host
// meanwhile. The traits before kCompute are the classes of IdleClass. An idle instant has exactly one of these,
// unless idle time cannot be attributed.
enum class Trait : std::uint8_t {
  kDataloader,
  kSyncApi,
  kMemcpyApi,
  kCpuOp,
  kHostOther,
  kLaunchLatency,
  kQueuedWait,
  kNoLaunchRecord,
  kTailHead,
  kCompute,
  kComm,
  kCopy,          // a copy or a memset
  kHtod,          // a copy from the host to the device
  kFp32,          // a matrix kernel in single precision
  kInLaunchCall,  // a queued wait inside the launch call itself: the host is working
  kInHtodCall,    // the same, inside a call that copies from host to device
  kInsideGraph,   // between events of one launch
  kOwnSync,       // before a launch, in a synchronising call of the launching thread
  kAllocating,    // calls that allocate or free device memory, from the second step on
  kLoaderAhead,   // a loader that nobody waits for
  kScalarRead,
  kOverhead,  // of the profiler itself
  kPeerWait   // collectives that wait for another rank
};
inline constexpr std::size_t kTraits = static_cast<std::size_t>(Trait::kPeerWait) + 1;

// The number of a trait.
constexpr std::uint8_t NumberOf(Trait t) { return static_cast<std::uint8_t>(t); }

// A combination of traits as a bit mask, with its operations.
using Traits = std::uint32_t;
constexpr Traits BitOf(Trait t) { return Traits{1} << static_cast<unsigned>(t); }
template <typename... T>
constexpr Traits AnyOf(T... traits) {
  return (BitOf(traits) | ...);
}
constexpr bool Has(Traits traits, Traits any) { return (traits & any) != 0; }
inline constexpr Traits kBusyTraits = AnyOf(Trait::kCompute, Trait::kComm, Trait::kCopy);

// A set of instants of one window, stored as nanoseconds for each combination of traits. A window with millions
// of gaps has only some dozens of combinations. Any set that is defined by traits is a subset of the rows, so
// the set operations are exact and cheap. Example: {compute: 5 ms, compute and comm: 2 ms} has 7 ms in total
// and 2 ms With(kComm).
class TimeSet {
 public:
  using Row = std::pair<Traits, std::int64_t>;
  TimeSet() = default;
  explicit TimeSet(const std::unordered_map<Traits, std::int64_t>& ns) : rows_(ns.begin(), ns.end()) {
    std::sort(rows_.begin(), rows_.end());
  }

  // The length of the set.
  [[nodiscard]] std::int64_t TotalNs() const {
    std::int64_t ns = 0;
    for (const Row& row : rows_) ns += row.second;
    return ns;
  }
  // Whether the set has instants with exactly these traits.
  [[nodiscard]] bool Contains(Traits traits) const {
    const auto at = std::lower_bound(rows_.begin(), rows_.end(), Row{traits, INT64_MIN});
    return at != rows_.end() && at->first == traits;
  }
  // The instants whose traits pass `test`.
  template <typename Test>
  [[nodiscard]] TimeSet Where(Test test) const {
    TimeSet some;
    for (const Row& row : rows_) {
      if (test(row.first)) some.rows_.push_back(row);
    }
    return some;
  }
  // The instants that have the trait.
  [[nodiscard]] TimeSet With(Trait t) const {
    return Where([t](Traits traits) { return Has(traits, BitOf(t)); });
  }

  // The instants whose combination of traits occurs in `some`.
  [[nodiscard]] TimeSet Like(const TimeSet& some) const {
    return Where([&some](Traits traits) { return some.Contains(traits); });
  }

  // Set operations for two sets of one window.
  friend TimeSet Intersection(const TimeSet& a, const TimeSet& b) { return a.Like(b); }
  friend TimeSet Difference(const TimeSet& a, const TimeSet& b) {
    return a.Where([&b](Traits traits) { return !b.Contains(traits); });
  }
  friend TimeSet Union(const TimeSet& a, const TimeSet& b) {
    TimeSet all = a;
    for (const Row& row : Difference(b, a).rows_) all.rows_.push_back(row);
    std::sort(all.rows_.begin(), all.rows_.end());
    return all;
  }
  friend bool operator==(const TimeSet&, const TimeSet&) = default;

 private:
  std::vector<Row> rows_;  // sorted by traits
};

}  // namespace idleburn
