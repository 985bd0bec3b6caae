#include "diagnose/idle_stretches.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <vector>

#include "diagnose/scene.h"

namespace idleburn {
namespace {

constexpr std::size_t kIdle = static_cast<std::size_t>(Phase::kIdle);

// A bucket of a stretch: idle but for a blip. Unobserved time ends a stretch: it is not idle.
bool IsIdle(const Timeline::Bucket& bucket) {
  const std::int64_t observed = bucket.ObservedNs();
  return observed > 0 && bucket.phase_ns[kIdle] * 10 >= observed * 9;
}

// Which buckets belong to a stretch: runs of idle buckets together with the one at either end, in which the stretch
// begins and ends, if their idle time reaches a minute.
std::vector<bool> MarkStretches(const std::vector<Timeline::Bucket>& buckets, const std::vector<bool>& taken) {
  std::vector<bool> marked(buckets.size(), false);
  const auto is_taken = [&](std::size_t i) { return i < taken.size() && taken[i]; };
  const auto is_idle = [&](std::size_t i) { return IsIdle(buckets[i]) && !is_taken(i); };
  for (std::size_t i = 0; i < buckets.size();) {
    if (!is_idle(i)) {
      ++i;
      continue;
    }
    std::size_t end = i;
    while (end < buckets.size() && is_idle(end)) ++end;
    const std::size_t from = i == 0 || is_taken(i - 1) ? i : i - 1;
    const std::size_t to = end == buckets.size() || is_taken(end) ? end : end + 1;
    std::int64_t idle = 0;
    for (std::size_t k = from; k < to; ++k) idle += buckets[k].phase_ns[kIdle];
    if (idle >= kIdleStretchSeconds * kNanosPerSecond) {
      std::fill(marked.begin() + static_cast<std::ptrdiff_t>(from), marked.begin() + static_cast<std::ptrdiff_t>(to),
                true);
    }
    i = end;
  }
  return marked;
}

// Of the idle time of a bucket, what saw no kernel: a cell below 10 % may still have been in use for a tenth.
double NotBusy(const Timeline::Bucket& bucket, std::int64_t idle_below) {
  const auto idle = static_cast<double>(bucket.phase_ns[kIdle]);
  const double used = static_cast<double>(bucket.utilization.area) / static_cast<double>(kFull);
  return idle - std::min(used, idle * static_cast<double>(idle_below) / static_cast<double>(kFull));
}

}  // namespace

IdleStretches FindIdleStretches(const DeviceTotals& totals, std::int64_t idle_below, const std::vector<bool>& taken) {
  const Timeline& timeline = totals.timeline;
  const std::vector<bool> marked = MarkStretches(timeline.buckets, taken);
  const bool coarse = timeline.bucket_seconds > 32;  // then a stretch of a minute need not fill one bucket
  IdleStretches idle;
  std::int64_t not_held = 0;
  for (std::size_t i = 0; i < marked.size(); ++i) {
    const Timeline::Bucket& bucket = timeline.buckets[i];
    if (marked[i]) {
      idle.held_ns += bucket.held_ns;
      not_held += bucket.phase_ns[kIdle] - bucket.held_ns;
      idle.recoverable_ns += NotBusy(bucket, idle_below);
    } else if (coarse && (i >= taken.size() || !taken[i])) {
      idle.unclear_ns += bucket.phase_ns[kIdle];
    }
  }
  // Buckets know only what was held; the totals know how the rest splits.
  const std::int64_t rest = totals.idle_empty_ns + totals.idle_unknown_ns;
  const double unknown = rest == 0 ? 0 : static_cast<double>(totals.idle_unknown_ns) / static_cast<double>(rest);
  idle.unknown_ns = static_cast<std::int64_t>(std::llround(static_cast<double>(not_held) * unknown));
  idle.empty_ns = not_held - idle.unknown_ns;
  idle.marked = marked;
  return idle;
}

}  // namespace idleburn
