#pragma once

#include <map>
#include <span>
#include <string>
#include <vector>

#include "owners/label_map.h"
#include "owners/node_gpu.h"
#include "owners/process_claims.h"

namespace idleburn {

// A process that holds a device, with what /proc tells of it.
struct HolderProcess {
  std::int64_t pid = 0;
  std::int64_t start_ticks = 0;
  const ProcessFacts* facts = nullptr;  // null: no such process here
};

// What all sources said at one moment. A null source is not used on this machine.
struct SourceView {
  std::span<const NodeGpu> gpus;
  std::map<std::string, std::vector<HolderProcess>> holders;  // by UUID
  const SourceAnswer* slurm = nullptr;
  const SourceAnswer* pods = nullptr;
  const SourceAnswer* files = nullptr;
  GresOrder order = GresOrder::kMinor;
  ProcessClaimRules rules;
  const EnvironKeys* keys = nullptr;
  const LabelMap* labels = nullptr;
};

// What must be remembered between two joins.
struct JoinMemory {
  // Jobs of processes as the scheduler last confirmed them. A process never changes its job, so its job keeps its name
  // while the scheduler does not answer.
  std::map<std::pair<std::int64_t, std::int64_t>, OwnerClaim> confirmed;
  // Owners by (cluster, job, start), with the labels found so far. A job keeps its experiment when the process that
  // told it has ended.
  std::map<std::string, Owner> owners;
};
// The key of an owner in that memory.
std::string KeyOfOwner(const Owner& owner);

// Joins the sources: for each device the surest one that names an owner.
//
//   1. The scheduler's record (Slurm or the kubelet). An owner without a process holds the device too.
//   2. A file of a prolog, unless the scheduler answered completely: then its silence counts more.
//   3. Control groups, then environments, of the processes on the device.
//   4. The user of the processes; only if no scheduler is used, or if all of them answered completely.
//
// If a scheduler did not answer completely and nothing else names an owner, the device is unknown. Two owners by the
// same evidence share the device equally, as an estimate. Where sources contradict each other, the surest one counts
// and an error line names both.
Holdings JoinSources(const SourceView& view, JoinMemory* memory);

}  // namespace idleburn
