#include "owners/slurm_owners.h"

#include <algorithm>
#include <set>
#include <string_view>

namespace idleburn {
namespace {

bool IsShareOfGpu(std::string_view name) { return name == "shard" || name == "mps"; }

std::int64_t TotalOf(const std::vector<GresUse>& list, std::string_view name) {
  std::int64_t total = 0;
  for (const GresUse& use : list) total += use.name == name ? use.count : 0;
  return total;
}

// How many shares each GPU of the node has; 0 if the configuration does not tell.
std::int64_t SharesPerGpu(const SlurmNode& node, std::string_view name) {
  const std::int64_t gpus = TotalOf(node.has, "gpu");
  const std::int64_t shares = TotalOf(node.has, name);
  return gpus > 0 && shares % gpus == 0 ? shares / gpus : 0;
}

// A use of a device by a job, before the device is found.
struct IndexedUse {
  std::int64_t device = 0;
  std::int64_t part = 1;
  std::int64_t parts = 1;  // 0: not known
};

// The devices of one resource of a job.
std::vector<IndexedUse> UsesOf(const GresUse& use, const SlurmNode& node) {
  const std::int64_t each = use.name == "gpu" ? 1 : SharesPerGpu(node, use.name);
  const auto devices = static_cast<std::int64_t>(use.devices.size());
  std::vector<IndexedUse> uses;
  for (std::size_t i = 0; i < use.devices.size(); ++i) {
    IndexedUse one{use.devices[i], 1, each};
    if (use.name != "gpu" && each > 0) {
      // Slurm before 24 tells only the sum over devices: 4 shares on 2 GPUs of 8 each are 4 of 16 on each.
      const bool told = i < use.shares.size();
      one.part = told ? use.shares[i] : use.count;
      one.parts = told ? each : each * devices;
      if (one.part > one.parts) one = {one.device, 1, 0};
    }
    uses.push_back(one);
  }
  return uses;
}

OwnerClaim ClaimOfJob(const SlurmJob& job) {
  OwnerClaim claim;
  claim.raw_id = job.raw_id;
  claim.account = job.account;
  claim.job_name = job.name;
  claim.holding.owner.cluster = job.cluster;
  claim.holding.owner.job = job.id;
  claim.holding.owner.user = job.user;
  claim.holding.owner.start = job.start;
  return claim;
}

// Where shares of a device have no known total, its jobs share it equally.
void ShareEqually(std::vector<OwnerClaim>* claims) {
  for (OwnerClaim& claim : *claims) {
    if (claim.holding.parts > 0) continue;
    const auto same = [&](const OwnerClaim& other) { return other.holding.uuid == claim.holding.uuid; };
    const auto sharing = std::count_if(claims->begin(), claims->end(), same);
    for (OwnerClaim& other : *claims) {
      if (!same(other)) continue;
      other.holding.part = 1;
      other.holding.parts = sharing;
    }
  }
}

// Collects the claims of a queue, and the numbers of devices that they explain.
class ClaimCollector {
 public:
  ClaimCollector(const SlurmNode& node, GresOrder order, std::span<const NodeGpu> gpus, SourceAnswer* answer)
      : node_(node), order_(order), gpus_(gpus), answer_(answer) {}

  void Add(const SlurmJob& job) {
    std::set<std::int64_t> whole;
    for (const GresUse& use : job.gres) {
      const bool share = IsShareOfGpu(use.name);
      if ((use.name != "gpu" && !share) || use.count == 0) continue;
      if (use.devices.empty()) Lose("job " + job.id + " has GPUs, but Slurm does not tell which");
      for (const IndexedUse& one : UsesOf(use, node_)) {
        explained_.insert(one.device);
        if (share && whole.contains(one.device)) continue;
        if (!share) whole.insert(one.device);
        AddOne(job, one, share);
      }
    }
  }

  // GPUs that the node calls used and no job explains.
  void AddHidden() {
    std::size_t hidden = 0;
    for (const GresUse& use : node_.used) {
      if (use.name != "gpu" && !IsShareOfGpu(use.name)) continue;
      for (const std::int64_t device : use.devices) {
        if (!explained_.insert(device).second) continue;
        ++hidden;
        const NodeGpu* gpu = GpuOfGresIndex(device, order_, gpus_);
        if (gpu == nullptr) answer_->complete = false;
        if (gpu != nullptr) answer_->unknown.push_back(gpu->uuid);
      }
    }
    if (hidden > 0) {
      answer_->errors.push_back("slurm: " + std::to_string(hidden) + (hidden == 1 ? " GPU is" : " GPUs are") +
                                " held by jobs that squeue does not show; PrivateData may hide them from this user");
    }
  }

 private:
  void AddOne(const SlurmJob& job, const IndexedUse& one, bool share) {
    const NodeGpu* gpu = GpuOfGresIndex(one.device, order_, gpus_);
    if (gpu == nullptr) {
      return Lose("job " + job.id + " holds device " + std::to_string(one.device) +
                  ", which is no whole GPU here; check the order of gres.conf");
    }
    OwnerClaim claim = ClaimOfJob(job);
    claim.holding.uuid = gpu->uuid;
    claim.holding.part = one.part;
    claim.holding.parts = one.parts;
    claim.holding.proof = share ? OwnerProof::kEstimated : OwnerProof::kScheduler;
    answer_->claims.push_back(std::move(claim));
  }

  void Lose(const std::string& why) {
    answer_->complete = false;
    answer_->errors.push_back("slurm: " + why);
  }

  const SlurmNode& node_;
  GresOrder order_;
  std::span<const NodeGpu> gpus_;
  SourceAnswer* answer_;
  std::set<std::int64_t> explained_;
};

}  // namespace

SourceAnswer SlurmOwners::Update(const SlurmQueue& queue, const SlurmNode& node, GresOrder order,
                                 std::span<const NodeGpu> gpus) {
  SourceAnswer answer;
  ClaimCollector collector(node, order, gpus, &answer);
  std::map<std::pair<std::string, Instant>, Owner> holding;
  for (const SlurmJob& job : queue.jobs) {
    collector.Add(job);
    holding.emplace(std::pair(job.raw_id, job.start), ClaimOfJob(job).holding.owner);
  }
  ShareEqually(&answer.claims);
  if (!queue.faults.empty()) {
    answer.complete = false;
    answer.errors.push_back("slurm: " + queue.faults.front() +
                            (queue.faults.size() == 1
                                 ? ""
                                 : "; " + std::to_string(queue.faults.size() - 1) + " more jobs could not be read"));
  }
  // A job in its epilog has ended, but the node still calls its GPUs used.
  if (!queue.completing && queue.faults.empty()) collector.AddHidden();
  for (const auto& [key, owner] : holding_) {
    if (!holding.contains(key)) answer.ended.push_back(owner);
  }
  // After a fault a job may be missing for another reason than its end.
  if (!queue.faults.empty()) {
    answer.ended.clear();
    holding.insert(holding_.begin(), holding_.end());
  }
  holding_ = std::move(holding);
  return answer;
}

}  // namespace idleburn
