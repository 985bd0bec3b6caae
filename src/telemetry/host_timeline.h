#pragma once

#include <array>
#include <cstdint>
#include <optional>

#include "telemetry/host_signal.h"
#include "telemetry/second_buckets.h"

namespace idleburn {

// What is known of one signal in a part of time: over how much of it, and the rise of a counter (in its unit), or the
// area of a number of things (count x ns).
struct HostSum {
  std::int64_t ns = 0;
  std::int64_t amount = 0;
  void Merge(const HostSum& o) {
    ns += o.ns;
    amount += o.amount;
  }
  friend bool operator==(const HostSum&, const HostSum&) = default;
};

struct HostBucket {
  std::array<HostSum, kHostSignalCount> sum{};
  void Merge(const HostBucket& o) {
    for (std::size_t i = 0; i < sum.size(); ++i) sum[i].Merge(o.sum[i]);
  }
  friend bool operator==(const HostBucket&, const HostBucket&) = default;
};

// What a host, or a workload on it, did over time, in bounded memory: of host samples only the sums in each part of
// time are kept. Levels in bytes are not: they would not add up.
class HostTimeline {
 public:
  // Between two readings further apart than this nothing is known: the source was not there.
  static constexpr Nanos kMostApart{10 * kNanosPerSecond};

  void Add(const HostSample& sample);
  [[nodiscard]] bool empty() const {
    return Of(HostScope::kMachine).buckets.empty() && Of(HostScope::kWorkload).buckets.empty();
  }
  // Empty if nothing was read of that scope.
  [[nodiscard]] const SecondBuckets<HostBucket>& Of(HostScope scope) const {
    return scopes_[static_cast<std::size_t>(scope)].buckets;
  }

 private:
  struct Last {
    Instant time;
    std::int64_t value = 0;
  };
  struct Scope {
    SecondBuckets<HostBucket> buckets;
    std::array<std::optional<Last>, kHostSignalCount> last{};
  };
  static void Spread(HostSignal signal, const Last& from, Instant to, std::int64_t amount,
                     SecondBuckets<HostBucket>& buckets);

  std::array<Scope, kHostScopeCount> scopes_;
};

}  // namespace idleburn
