#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "diagnose/claims.h"
#include "diagnose/finding.h"
#include "diagnose/scene.h"

namespace idleburn {

inline constexpr double kMemoryFull = 0.9;  // of a GPU's memory
inline constexpr double kLinkFull = 0.6;    // of a link's speed: no link moves much more than 80 % of it
inline constexpr double kLinkShare = 0.2;   // of a GPU's time

// Whether the host was looked at for one workload's sake.
bool WatchesWorkload(const Scene& scene);

// The time from the start of a workload to its first kernel: apart from the rest, for no data loader is to blame.
// Nothing where no workload was watched. Marks what it claims and returns it, in GPU-nanoseconds, also where it is too
// little to be named.
std::int64_t FindStartUp(const Scene& scene, Claims& claims, std::vector<Finding>& findings);

// GPUs that are low while at least kLinkFull of what their PCIe link can move comes over it, in kLinkShare of the time:
// too many bytes for the link, whatever the loader does. Marks what it claims and returns it, in GPU-nanoseconds.
std::int64_t FindFullLink(const Scene& scene, Claims& claims, std::vector<Finding>& findings);

// What the host says of the time in which GPUs that work were low.
struct HostFindings {
  std::int64_t claimed_ns = 0;     // GPU-time below 70 % that is explained
  bool named = false;              // a cause of all of it
  std::vector<std::string> words;  // if not: what was read, and what speaks for and against each cause
};

// Why GPUs wait: a loader that lacks workers, CPUs or storage; memory that the host has to reclaim.
HostFindings FindHostCauses(const Scene& scene, Claims& claims, std::vector<Finding>& findings);

// Says in a finding without a cause what the host excludes.
void AddHostWords(const HostFindings& host, Finding& finding);

}  // namespace idleburn
