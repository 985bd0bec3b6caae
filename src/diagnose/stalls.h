#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "diagnose/cause_table.h"
#include "diagnose/make_finding.h"
#include "diagnose/scene.h"

// GPUs of one job that wait for each other or for a write: stragglers and checkpoints.
namespace idleburn {
// A peer below this utilization while others spin is what they wait for, if it is so in at least this share of that
// time: more often than not.
inline constexpr std::int64_t kLateBelow = 30 * kPercent;
inline constexpr double kLateShare = 0.5;

// The GPU that spinning GPUs wait for.
struct LatePeer {
  DeviceId device = 0;
  double share = 0;  // of the buckets in which another GPU spins and this one was read
};

// What counts as waiting: spin-wait by the device's verdict, or a busy GPU at low power (IsDim) that cannot be
// told from one.
enum class Waiting : std::uint8_t { kSpin, kDim };

// Whether the device seems to wait in a bucket: busy, at the power or SM activity that its verdict calls
// spin-wait.
bool Spins(const Thresholds& thresholds, const DeviceResult& d, const Timeline::Bucket& bucket);
// Whether somebody uses the GPU: it worked, or memory was held on it.
bool TakesPart(const DeviceTotals& totals);
// The widest bucket of all timelines of a run, in seconds.
std::int64_t CommonWidth(const RunResult& run);

// The device that is most often below kLateBelow while others wait. Absent if no device is in kLateShare of
// that time. A GPU that nobody uses, idle throughout without held memory, is not part of the job and is no
// peer.
std::optional<LatePeer> FindLatePeer(const Scene& scene, Waiting waiting = Waiting::kSpin);

// Thresholds of a stall.
inline constexpr double kSpreadPoints = 50;       // utilization points between the busiest and the lowest GPU of a job
inline constexpr std::size_t kStallEpisodes = 3;  // it recurs; once or twice may be chance
inline constexpr double kRegularity = 0.2;        // interquartile range of the intervals, as a share of their median
inline constexpr double kSameGpu = 0.7;           // of the episodes with the same low GPU
inline constexpr double kWrites = 1e6;            // bytes a second; less is a log
inline constexpr double kRises = 2;               // factor of writes inside the episodes to outside

// What stalls take, in GPU-nanoseconds: spin-wait of GPUs that wait for one, and time below 70 %.
struct StallClaim {
  std::int64_t spin_ns = 0;
  std::int64_t low_ns = 0;
  // Part of both that a fix could give back.
  std::int64_t wasted_ns = 0;
  DeviceShares where;  // both
  DeviceShares wasted;
};

// Finds episodes in which some GPUs of a job spin while another is low. They are checkpoints if they recur
// while the job writes (or regularly, if its writes were not read). They are a straggler if mostly the same GPU
// is low and the job writes nothing. Anything else stays spin-wait. Marks what it claims.
StallClaim FindPeerStall(const Scene& scene, Claims& claims, std::vector<Finding>& findings);

// Finds episodes between stretches of work in which every GPU of a job stands still while the job writes. These
// are checkpoints that all ranks make, or wait for asleep, and checkpoints of a job with one GPU. Claims only
// unclaimed time, marks it and returns it in GPU-nanoseconds.
std::int64_t FindWriteStall(const Scene& scene, Claims& claims, std::vector<Finding>& findings);

}  // namespace idleburn
