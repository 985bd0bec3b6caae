#pragma once

#include <map>
#include <span>
#include <string>
#include <utility>

#include "owners/node_gpu.h"
#include "owners/slurm_jobs.h"

namespace idleburn {

// Turns answers of Slurm into claims, and remembers jobs between answers. A job that an answer no longer has is
// ended, whatever its control groups say. The key of a job is its number and start: a requeued job has a new start.
class SlurmOwners {
 public:
  // The claims of an answer, and jobs that ended since the one before. A share of a GPU (shard, mps) is part of as
  // many shares as the GPU has, and estimated. GPUs that the node calls used, but that no job claims, are unknown:
  // PrivateData may hide their jobs.
  SourceAnswer Update(const SlurmQueue& queue, const SlurmNode& node, GresOrder order, std::span<const NodeGpu> gpus);

 private:
  std::map<std::pair<std::string, Instant>, Owner> holding_;  // by raw id and start
};

}  // namespace idleburn
