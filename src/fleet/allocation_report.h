#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

// What a scheduler gave to whom, as exporters of the scheduler count it. They count GPUs and do not name them. Times
// are GPU-milliseconds of the window; of MIG instances, instance-milliseconds.
namespace idleburn {

// One kind of GPU that a scheduler hands out.
struct AllocationResource {
  std::string scheduler;                    // "kubernetes", "slurm"
  std::string name;                         // "nvidia_com_gpu", "nvidia_com_mig_1g_10gb"; Slurm's is "gpu"
  std::optional<std::int64_t> capacity_ms;  // absent: not told
  std::int64_t allocated_ms = 0;
  std::int64_t unusable_ms = 0;  // capacity that cannot be handed out: broken, or the node is down

  // Capacity that nobody held; never negative.
  [[nodiscard]] std::optional<std::int64_t> UnallocatedMs() const;
};

// Who held GPUs.
struct AllocationOwner {
  std::string kind;     // "namespace", "pod", "account", "user"
  std::string name;     // "ml", "ml/train-0"
  std::string cluster;  // the label of that name; empty: none
  std::string team;     // of a pod: its label_team, else its namespace
  std::int64_t held_ms = 0;
  std::int64_t most = 0;                        // GPUs at one time
  std::optional<double> mean_utilization = {};  // 0 to 1; absent: nothing tells which GPUs it had
};

// What waits for GPUs.
struct AllocationQueue {
  std::string metric;     // that tells it
  std::string unit;       // "jobs", "pods", "GPUs", "workloads"
  double mean = 0;        // over the steps that were read
  std::int64_t most = 0;  // at one time
  std::int64_t newest = 0;
};

// GPUs of one node, for what was allocated and not used.
struct AllocationNode {
  std::string name;
  std::int64_t capacity_ms = 0;
  std::int64_t allocated_ms = 0;
  bool mig = false;  // it hands out instances, which cannot be compared with boards
};

struct FleetAllocation {
  std::vector<AllocationResource> resources;
  std::vector<AllocationOwner> owners;  // by kind, the most time first
  std::vector<AllocationQueue> queues;
  std::vector<AllocationNode> nodes;
  std::vector<std::string> metrics;  // that were read
  std::int64_t step_s = 0;           // between two readings
  std::int64_t readings = 0;         // steps with data
  // Time that was allocated and had no use (below 10 % busy), at least. Absent: no GPU was measured.
  std::optional<std::int64_t> unused_ms;
};

}  // namespace idleburn
