#pragma once

#include <functional>
#include <optional>
#include <set>
#include <string>

#include "owners/node_gpu.h"
#include "owners/process_owners.h"

namespace idleburn {

// How the owner of a process is told where no scheduler's record names the device.
struct ProcessClaimRules {
  std::string cluster;  // of this node; empty: unknown
  // Numbers of the jobs that Slurm calls running here. Absent: Slurm did not tell all of them. A job that is not among
  // them is over, also if its control group lived on.
  std::optional<std::set<std::string>> running;
  std::function<std::string(std::uint32_t)> user_name;
  std::function<std::string(const std::string& uid)> pod_name;  // "namespace/name"; empty if it is not known
};

// Who a process belongs to, by the surest sign: control group of Slurm, of a pod or a container, SLURM_JOB_ID and run
// ids of its environment, and at last its user. The claim has no device. Absent if nothing tells, or if the process is
// below Slurm's scope in a form that names no job.
std::optional<OwnerClaim> ClaimOfProcess(const ProcessFacts& facts, const ProcessClaimRules& rules);

}  // namespace idleburn
