// Who holds a GPU. Sources (a scheduler, Kubernetes, files of a prolog, processes) say it for now; the agent
// (agent/node_counters.h) turns it into seconds of jobs and teams.

#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "base/time.h"

namespace idleburn {

// How a source knows an owner, from the surest to the least sure. The surest wins. The order is that of preference.
enum class OwnerProof : std::uint8_t { kScheduler, kMappingFile, kCgroup, kEnvironment, kUser, kEstimated };
inline constexpr std::string_view kOwnerProofNames[] = {"scheduler", "mapping_file", "cgroup",
                                                        "environ",   "user",         "estimated"};

// A job, pod or run that holds GPUs. Empty fields are unknown. Ids are recycled, so a job is (cluster, job, start).
struct Owner {
  std::string cluster;
  std::string job;  // "4711", "4711_3", "namespace/pod", "torchrun:RUN"; empty: a plain user
  std::string user;
  std::string team;  // by the mapping file, else the account or namespace; empty: unknown
  std::string experiment;
  std::optional<Instant> start;  // of the job, as its source says
  std::string project = {};      // by the mapping file; empty: unknown

  friend auto operator<=>(const Owner&, const Owner&) = default;
};

// What an owner holds of one device now. `part` of `parts` is its share: 1 of 1, or 2 of 4 time-slicing replicas.
struct Holding {
  std::string uuid;  // "GPU-..." or "MIG-...", in the driver's spelling
  Owner owner;
  OwnerProof proof = OwnerProof::kScheduler;
  std::int64_t part = 1;
  std::int64_t parts = 1;
  std::vector<std::int64_t> pids;  // processes of the owner that are known; may be empty
};

// What all sources said at one moment. A device that is in none of the lists is not allocated.
struct Holdings {
  Instant at;
  std::vector<Holding> held;
  std::vector<std::string> unknown;  // allocated devices whose owner no source can tell
  std::vector<Owner> ended;          // jobs that their scheduler called ended since the last call
  // Sources that failed, one line each: "slurm: squeue ended with 1". What they knew last is not repeated: devices that
  // only a failed source could tell are in `unknown`.
  std::vector<std::string> errors;
};

}  // namespace idleburn
