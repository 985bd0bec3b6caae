#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <unordered_map>
#include <utility>
#include <vector>

namespace idleburn {

// What is true of an instant of a window: of the device, of the idle gap it lies in, of the host meanwhile. Those
// before kCompute are the classes of IdleClass; an idle instant has one of them, unless idle time cannot be attributed.
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
  kCopy,          // a copy or a set
  kHtod,          // a copy from the host to the device
  kFp32,          // a matrix kernel in single precision
  kInLaunchCall,  // a queued wait inside the launch call itself: the host is at work
  kInHtodCall,    // of that, inside a call that copies from the host to the device
  kInsideGraph,   // between events of one launch
  kOwnSync,       // before a launch, in a synchronising call of the thread that launched
  kAllocating,    // calls that take device memory or give it back, from the second step on
  kLoaderAhead,   // a loader that nobody waits in
  kScalarRead,
  kOverhead,  // the profiler's own
  kPeerWait   // collectives that wait for another rank
};
inline constexpr std::size_t kTraits = static_cast<std::size_t>(Trait::kPeerWait) + 1;

constexpr std::uint8_t NumberOf(Trait t) { return static_cast<std::uint8_t>(t); }

using Traits = std::uint32_t;
constexpr Traits BitOf(Trait t) { return Traits{1} << static_cast<unsigned>(t); }
template <typename... T>
constexpr Traits AnyOf(T... traits) {
  return (BitOf(traits) | ...);
}
constexpr bool Has(Traits traits, Traits any) { return (traits & any) != 0; }
inline constexpr Traits kBusyTraits = AnyOf(Trait::kCompute, Trait::kComm, Trait::kCopy);

// Instants of one window, by what is true of them: nanoseconds of each combination of traits. Of a window of millions
// of gaps these are some dozens of rows, and sets of instants that differ in traits are subsets of the rows.
class TimeSet {
 public:
  using Row = std::pair<Traits, std::int64_t>;
  TimeSet() = default;
  explicit TimeSet(const std::unordered_map<Traits, std::int64_t>& ns) : rows_(ns.begin(), ns.end()) {
    std::sort(rows_.begin(), rows_.end());
  }

  [[nodiscard]] std::int64_t TotalNs() const {
    std::int64_t ns = 0;
    for (const Row& row : rows_) ns += row.second;
    return ns;
  }
  [[nodiscard]] bool Contains(Traits traits) const {
    const auto at = std::lower_bound(rows_.begin(), rows_.end(), Row{traits, INT64_MIN});
    return at != rows_.end() && at->first == traits;
  }
  // The instants whose traits hold `test`.
  template <typename Test>
  [[nodiscard]] TimeSet Where(Test test) const {
    TimeSet some;
    for (const Row& row : rows_) {
      if (test(row.first)) some.rows_.push_back(row);
    }
    return some;
  }
  [[nodiscard]] TimeSet With(Trait t) const {
    return Where([t](Traits traits) { return Has(traits, BitOf(t)); });
  }

  // Of these instants, those whose traits are `some`'s.
  [[nodiscard]] TimeSet Like(const TimeSet& some) const {
    return Where([&some](Traits traits) { return some.Contains(traits); });
  }

  // Both of one window.
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
  std::vector<Row> rows_;  // by traits
};

}  // namespace idleburn
