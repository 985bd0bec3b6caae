#include "diagnose/host_during.h"

#include <algorithm>
#include <optional>

#include "diagnose/host_means.h"

namespace idleburn {
namespace {

void Choose(Interval at, ChosenTimes& chosen) {
  for (std::int64_t second = at.start / kNanosPerSecond; second * kNanosPerSecond < at.end; ++second) {
    const Interval whole{second * kNanosPerSecond, (second + 1) * kNanosPerSecond};
    chosen.At(second).Merge({std::min(at.end, whole.end) - std::max(at.start, whole.start), kNanosPerSecond});
  }
}

// From the first to the last that a device did or a step took, by the wall clock.
std::optional<Interval> CaptureOf(const Profile& profile) {
  if (!profile.wall_base_ns) return std::nullopt;
  std::optional<Interval> at;
  const auto widen = [&at](std::int64_t start, std::int64_t end) {
    at = at ? Interval{std::min(at->start, start), std::max(at->end, end)} : Interval{start, end};
  };
  for (const ProfiledDevice& device : profile.devices) {
    for (const DeviceEvent& event : device.events) widen(event.start_ns, event.end_ns);
  }
  for (const ProfiledStep& step : profile.steps) widen(step.start_ns, step.end_ns);
  // Stamps of another kind than the clock's name no time.
  Interval wall;
  const bool fits = at && at->Ns() <= kLongestEventNs &&
                    !__builtin_add_overflow(at->start, *profile.wall_base_ns, &wall.start) &&
                    !__builtin_add_overflow(at->end, *profile.wall_base_ns, &wall.end) && wall.start >= 0;
  return fits ? std::optional(wall) : std::nullopt;
}

// All that was read of the workload, else of the machine.
ChosenTimes AllOf(const HostTimeline& host) {
  const SecondBuckets<HostBucket>& job = host.Of(HostScope::kWorkload);
  const SecondBuckets<HostBucket>& read = job.buckets.empty() ? host.Of(HostScope::kMachine) : job;
  ChosenTimes all;
  all.bucket_seconds = read.bucket_seconds;
  all.first = read.first;
  all.buckets.assign(read.buckets.size(), {kNanosPerSecond, kNanosPerSecond});
  return all;
}

}  // namespace

HostEvidence HostDuring(std::span<const Profile> profiles, const HostTimeline& host) {
  if (host.empty()) return {};
  ChosenTimes chosen;
  bool dated = false;
  for (const Profile& profile : profiles) {
    const std::optional<Interval> at = CaptureOf(profile);
    dated = dated || at.has_value();
    if (at) Choose(*at, chosen);
  }
  return MeansOver(host, dated ? chosen : AllOf(host));
}

}  // namespace idleburn
