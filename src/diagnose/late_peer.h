#pragma once

#include <optional>

#include "diagnose/scene.h"

namespace idleburn {

inline constexpr std::int64_t kLateBelow = 30 * kPercent;  // a peer under this while others spin is what they wait for
inline constexpr double kLateShare = 0.5;                  // in at least this share of that time: more often than not

// The GPU that spinning ones wait for.
struct LatePeer {
  DeviceId device = 0;
  double share = 0;  // of the buckets in which another GPU spins and this one was read
};

// What looks like waiting: what the verdict of the device calls spin-wait, or a busy GPU at little power (IsDim), of
// which that cannot be told.
enum class Waiting : std::uint8_t { kSpin, kDim };

// True if the device looks like waiting in that bucket: busy, at the power or SM activity that its verdict calls a
// wait.
bool Spins(const Thresholds& thresholds, const DeviceResult& d, const Timeline::Bucket& bucket);
// Whether somebody uses the GPU: it worked, or memory was held on it.
bool TakesPart(const DeviceTotals& totals);
// Seconds of the widest bucket among the timelines of a run.
std::int64_t CommonWidth(const RunResult& run);

// The device that is most often below kLateBelow while others wait; absent if none is in kLateShare of that time. A
// GPU that nobody uses, idle throughout without memory held, is not part of the job and no peer.
std::optional<LatePeer> FindLatePeer(const Scene& scene, Waiting waiting = Waiting::kSpin);

}  // namespace idleburn
