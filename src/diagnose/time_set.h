// Sets of instants of a traced window, described by what is true of them.

#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <unordered_map>
#include <utility>
#include <vector>

namespace idleburn {

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
  kOverhead,     // of the profiler itself
  kPeerWait,     // collectives that wait for another rank
  kDtoh,         // a copy from the device to the host
  kInDtohCall,   // idle, in a call that copies from the device to the host
  kGraphReplay,  // from the call that launches a graph to its first kernel
  kFirstUse,     // idle, while code is loaded, compiled or recorded for the first time
  kMemoryCall,   // idle, in a call that takes or returns memory of any kind
  kCut,          // idle, in a wait for work that the file does not have
  kOptimizer     // idle, in the host's optimizer step
};
inline constexpr std::size_t kTraits = static_cast<std::size_t>(Trait::kOptimizer) + 1;

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
static_assert(kTraits <= 32, "a combination of traits is one word");
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
  // The sets of two windows side by side, as if they were one.
  friend TimeSet Sum(const TimeSet& a, const TimeSet& b) {
    std::unordered_map<Traits, std::int64_t> ns(a.rows_.begin(), a.rows_.end());
    for (const Row& row : b.rows_) ns[row.first] += row.second;
    return TimeSet(ns);
  }
  friend bool operator==(const TimeSet&, const TimeSet&) = default;

 private:
  std::vector<Row> rows_;  // sorted by traits
};

}  // namespace idleburn
