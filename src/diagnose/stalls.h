#pragma once

#include <cstdint>
#include <vector>

#include "diagnose/claims.h"
#include "diagnose/finding.h"
#include "diagnose/make_finding.h"
#include "diagnose/scene.h"

namespace idleburn {

inline constexpr double kSpreadPoints = 50;       // of utilisation, between the busiest and the lowest GPU of a job
inline constexpr std::size_t kStallEpisodes = 3;  // what recurs, and not what happened once or twice
inline constexpr double kRegularity = 0.2;        // interquartile range of the intervals, as a share of their median
inline constexpr double kSameGpu = 0.7;           // of the episodes in which one GPU is the low one
inline constexpr double kWrites = 1e6;            // bytes a second; less is a log
inline constexpr double kRises = 2;               // times as much in the episodes as beside them

// What stalls take, weighted: of the spin-wait of GPUs that wait for one, and of time below 70 %.
struct StallClaim {
  std::int64_t spin_ns = 0;
  std::int64_t low_ns = 0;
  std::int64_t wasted_ns = 0;  // of both, what a fix could give back
  DeviceShares where;          // both
  DeviceShares wasted;
};

// Episodes in which some GPUs of a job spin while another is low. Checkpoints, where these recur and the job writes
// (or, where nobody read what it writes, come at regular intervals); one GPU that makes the others wait, where it
// mostly is the same one and the job writes nothing. Anything else is left to spin-wait. Marks what it claims.
StallClaim FindPeerStall(const Scene& scene, Claims& claims, std::vector<Finding>& findings);

// Episodes between stretches of work in which every GPU of a job stands still, while the job writes: checkpoints that
// all ranks make or wait for asleep, and those of a job with one GPU. Takes only what nobody has claimed, marks it and
// returns it, in GPU-nanoseconds.
std::int64_t FindWriteStall(const Scene& scene, Claims& claims, std::vector<Finding>& findings);

}  // namespace idleburn
