#include "price/own_time.h"

#include <algorithm>
#include <map>
#include <utility>

#include "base/int128.h"
#include "price/gpu_time.h"

namespace idleburn {
namespace {

// value x part / of, half to even; 0 of nothing. In two steps, as the product of an area and a time may not fit.
Int128 PartOf(Int128 value, std::int64_t part, std::int64_t of) {
  return of == 0 ? 0 : value / of * part + DivHalfEven(value % of * part, of);
}
std::int64_t PartOf(std::int64_t value, std::int64_t part, std::int64_t of) {
  return static_cast<std::int64_t>(PartOf(Int128{value}, part, of));
}

// Of each bucket, by its number in buckets of that many seconds, the longest that an instance was read.
std::map<std::int64_t, std::int64_t> LongestRead(std::span<const DeviceResult* const> instances, std::int64_t seconds) {
  std::map<std::int64_t, std::int64_t> longest;
  for (const DeviceResult* instance : instances) {
    Timeline timeline = instance->totals.timeline;
    while (timeline.bucket_seconds < seconds) timeline.Coarsen();
    for (std::size_t i = 0; i < timeline.buckets.size(); ++i) {
      std::int64_t& most = longest[timeline.first + static_cast<std::int64_t>(i)];
      most = std::max(most, timeline.buckets[i].ObservedNs());
    }
  }
  return longest;
}

// Adds what a board did in `ns` of the time in which it was read.
Result<void> AddPart(const TimelineBucket& bucket, std::int64_t ns, DeviceTotals* sum) {
  const std::int64_t read = bucket.ObservedNs();
  const std::vector<std::int64_t> phases = TRY(SplitNanos(ns, bucket.phase_ns));
  for (std::size_t p = 0; p < kPhaseCount; ++p) sum->phase_ns[p] += phases[p];
  const std::int64_t idle = phases.front();
  sum->idle_held_ns += std::min(idle, PartOf(bucket.held_ns, ns, read));
  sum->utilization.ns += ns;
  sum->utilization.area += PartOf(bucket.utilization.area, ns, read);
  sum->throttled_ns += PartOf(bucket.throttled_ns, ns, read);
  return {};
}

// What the timeline does not tell: the rest in the proportions of all of the board's time.
Result<void> FillIn(const DeviceResult& all, DeviceResult* part) {
  constexpr auto kIdle = static_cast<std::size_t>(Phase::kIdle);
  constexpr auto kBound = static_cast<std::size_t>(Phase::kComputeBound);
  DeviceTotals& totals = part->totals;
  const std::int64_t not_held = totals.phase_ns[kIdle] - totals.idle_held_ns;
  const std::array<std::int64_t, 2> weights = {all.totals.idle_empty_ns, all.totals.idle_unknown_ns};
  const std::vector<std::int64_t> idle = TRY(SplitNanos(not_held, weights));
  totals.idle_empty_ns = idle.front();
  totals.idle_unknown_ns = not_held - totals.idle_empty_ns;
  const std::int64_t bound = totals.phase_ns[kBound];
  part->spin.time.ns = PartOf(all.spin.time.ns, bound, all.totals.phase_ns[kBound]);
  part->spin.time.area = PartOf(all.spin.time.area, bound, all.totals.phase_ns[kBound]);
  part->throttled_with_loss_ns = PartOf(all.throttled_with_loss_ns, totals.throttled_ns, all.totals.throttled_ns);
  return {};
}

}  // namespace

std::int64_t OwnTime::Within(Instant from, Instant to) const {
  std::int64_t sum = 0;
  for (const Stretch& s : stretches) {
    const std::int64_t inside = std::max<std::int64_t>(0, (std::min(s.end, to) - std::max(s.start, from)).count());
    const std::int64_t outside = std::max<std::int64_t>(0, (s.end - s.start).count()) - inside;
    sum += std::max<std::int64_t>(0, s.ns - outside);
  }
  return sum;
}

Result<OwnTime> OwnTimeOf(const DeviceResult& board, std::span<const DeviceResult* const> instances) {
  OwnTime own;
  own.board.device = board.device;
  Timeline timeline = board.totals.timeline;
  for (const DeviceResult* instance : instances) {
    while (timeline.bucket_seconds < instance->totals.timeline.bucket_seconds) timeline.Coarsen();
  }
  const std::map<std::int64_t, std::int64_t> longest = LongestRead(instances, timeline.bucket_seconds);
  const std::int64_t width = timeline.bucket_seconds * kNanosPerSecond;
  for (std::size_t i = 0; i < timeline.buckets.size(); ++i) {
    const std::int64_t number = timeline.first + static_cast<std::int64_t>(i);
    const std::int64_t read = timeline.buckets[i].ObservedNs();
    const auto other = longest.find(number);
    OwnTime::Stretch stretch = {std::max(Instant::FromNanos(number * width), board.first),
                                std::min(Instant::FromNanos((number + 1) * width), board.last), read};
    if (other != longest.end() && other->second > 0) {
      stretch.ns = std::clamp<std::int64_t>((stretch.end - stretch.start).count() - other->second, 0, read);
    }
    if (stretch.ns == 0) continue;
    TRY(AddPart(timeline.buckets[i], stretch.ns, &own.board.totals));
    own.stretches.push_back(stretch);
  }
  TRY(FillIn(board, &own.board));
  return own;
}

}  // namespace idleburn
