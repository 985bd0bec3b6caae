#include "telemetry/host_timeline.h"

#include <algorithm>

#include "base/int128.h"

namespace idleburn {
namespace {

bool IsKept(const HostSignalInfo& info) { return info.counter || info.unit == HostUnit::kCount; }

std::int64_t SecondOf(std::int64_t nanos) { return nanos / kNanosPerSecond - (nanos % kNanosPerSecond < 0 ? 1 : 0); }

}  // namespace

void HostTimeline::Add(const HostSample& sample) {
  Scope& scope = scopes_[static_cast<std::size_t>(sample.scope)];
  for (const HostSignalInfo& info : kHostSignals) {
    if (!IsKept(info) || !sample.Has(info.id)) continue;
    std::optional<Last>& last = scope.last[Index(info.id)];
    const std::int64_t value = sample.Get(info.id);
    if (last && sample.time > last->time && sample.time - last->time <= kMostApart) {
      const std::int64_t ns = (sample.time - last->time).count();
      // A counter that fell counts something else now, and a level holds until the next reading.
      const std::int64_t amount = info.counter ? value - last->value : last->value * ns;
      if (amount >= 0) Spread(info.id, *last, sample.time, amount, scope.buckets);
    }
    last = Last{sample.time, value};
  }
}

// Evenly over the time between two readings; the last part takes what rounding leaves.
void HostTimeline::Spread(HostSignal signal, const Last& from, Instant to, std::int64_t amount,
                          SecondBuckets<HostBucket>& buckets) {
  const std::int64_t start = from.time.nanos();
  const std::int64_t whole = to.nanos() - start;
  std::int64_t given = 0;
  for (std::int64_t at = start; at < to.nanos();) {
    const std::int64_t second = SecondOf(at);
    const std::int64_t end = std::min((second + 1) * kNanosPerSecond, to.nanos());
    const auto until = static_cast<std::int64_t>(static_cast<Int128>(amount) * (end - start) / whole);
    buckets.At(second).sum[Index(signal)].Merge({end - at, until - given});
    given = until;
    at = end;
  }
}

}  // namespace idleburn
