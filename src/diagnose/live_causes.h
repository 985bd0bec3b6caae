// Causes that need more than GPU readings: start-up, a full PCIe link, and whatever the host shows.

#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "classify/cause_limits.h"
#include "diagnose/cause_table.h"
#include "diagnose/make_finding.h"
#include "diagnose/scene.h"

namespace idleburn {

// Thresholds of memory and link.
inline constexpr double kMemoryFull = 0.9;  // of a GPU's memory
inline constexpr double kLinkShare = 0.2;   // of a GPU's time

// Whether the host was watched for one workload.
bool WatchesWorkload(const Scene& scene);

// Finds the time from the start of a workload to its first kernel. It is separate because no data loader is to
// blame. Does nothing if no workload was watched. Marks and returns what it claims in GPU-nanoseconds, even if
// it is too little to be named.
std::int64_t FindStartUp(const Scene& scene, Claims& claims, std::vector<Finding>& findings);

// Finds GPUs that are low while their PCIe link moves at least kLinkFull of its speed in kLinkShare of the
// time. Too many bytes cross the link, whatever the loader does. Marks and returns what it claims in
// GPU-nanoseconds.
std::int64_t FindFullLink(const Scene& scene, Claims& claims, std::vector<Finding>& findings);

// What the host says about the time in which working GPUs were low.
struct HostFindings {
  std::int64_t claimed_ns = 0;  // explained GPU-time below 70 %
  bool named = false;           // one cause explains all of it
  // Otherwise: what was read, and what speaks for and against each cause.
  std::vector<std::string> words;
};

// Finds why GPUs wait: a loader that lacks workers, CPUs or storage; memory that the host must reclaim.
HostFindings FindHostCauses(const Scene& scene, Claims& claims, std::vector<Finding>& findings);

// Adds to a finding without a cause what the host excludes.
void AddHostWords(const HostFindings& host, Finding& finding);

}  // namespace idleburn
