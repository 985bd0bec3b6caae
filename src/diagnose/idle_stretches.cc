#include "diagnose/idle_stretches.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <vector>

#include "base/int128.h"
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

// How much of the runs at 0 % lies in a bucket; they are exact, however coarse the timeline is.
std::int64_t InRuns(const DeviceTotals& totals, std::size_t bucket) {
  const std::int64_t width = totals.timeline.bucket_seconds * kNanosPerSecond;
  const std::int64_t begin = (totals.timeline.first + static_cast<std::int64_t>(bucket)) * width;
  auto run = std::partition_point(totals.zero_runs.begin(), totals.zero_runs.end(),
                                  [&](const ZeroRun& r) { return r.to() <= begin; });
  std::int64_t sum = 0;
  for (; run != totals.zero_runs.end() && run->from < begin + width; ++run) {
    sum += std::min(run->to(), begin + width) - std::max(run->from, begin);
  }
  return std::min(sum, totals.timeline.buckets[bucket].phase_ns[kIdle]);
}

}  // namespace

IdleStretches FindIdleStretches(const DeviceTotals& totals, const std::vector<bool>& taken, bool place_runs) {
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
    } else if (coarse && (i >= taken.size() || !taken[i]) && bucket.phase_ns[kIdle] > 0) {
      const std::int64_t clear = place_runs ? InRuns(totals, i) : 0;
      const auto held = static_cast<std::int64_t>(Int128{bucket.held_ns} * clear / bucket.phase_ns[kIdle]);
      idle.held_ns += held;
      not_held += clear - held;
      idle.unclear_ns += bucket.phase_ns[kIdle] - clear;
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
