#pragma once

#include <span>
#include <string>
#include <vector>

#include "owners/environ_keys.h"
#include "owners/node_gpu.h"

namespace idleburn {

// The UUIDs of the devices that a job holds, by the environment of one of its processes. Empty if it does not tell.
//
// SLURM_JOB_GPUS has the scheduler's own numbers and comes first; SLURM_STEP_GPUS was wrong in 23.11 where both exist.
// CUDA_VISIBLE_DEVICES starts again from 0 in a job whose devices are constrained: 0 may be GPU 5. So its numbers never
// count; its UUIDs do, which Slurm 25.11 and containers write.
std::vector<std::string> DevicesOfJob(const EnvironValues& values, GresOrder order, std::span<const NodeGpu> gpus);

// The UUIDs that CUDA_VISIBLE_DEVICES shows to one process. A number is a position in the scheduler's list. Without
// such a list numbers mean nothing, and the result is empty.
std::vector<std::string> VisibleDevices(const EnvironValues& values, GresOrder order, std::span<const NodeGpu> gpus);

}  // namespace idleburn
