#pragma once

#include <cstdint>
#include <set>
#include <string>
#include <vector>

#include "base/result.h"
#include "fleet/allocation_report.h"
#include "fleet/engine.h"
#include "fleet/scheduler_gauges.h"

// GPUs that jobs hold and jobs that wait, by exporters of Slurm. They count for the cluster, for accounts and users,
// and some for nodes; none tells which GPU a job has.
namespace idleburn {

// The gauges that are known, by all their spellings.
std::vector<std::string> SlurmGauges();

// Reads the window and adds a resource, owners and queues. Returns how many steps had data. `metrics` are those that
// the engine has.
Result<std::int64_t> AddSlurmAllocation(Engine& engine, const AllocationSteps& window,
                                        const std::set<std::string>& metrics, std::vector<MissingSteps>* missing,
                                        FleetAllocation* allocation);

}  // namespace idleburn
