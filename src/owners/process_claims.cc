#include "owners/process_claims.h"

#include <utility>

namespace idleburn {
namespace {

std::string ValueAt(const EnvironValues& values, std::string_view key) {
  const auto found = values.find(key);
  return found == values.end() ? std::string() : found->second;
}

// Whether a job of Slurm may still hold something.
bool MayRun(const std::string& job, const ProcessClaimRules& rules) {
  return !rules.running || rules.running->contains(job);
}

// The job of Slurm that a process names; empty if none does, or if it is over.
std::string JobOfProcess(const ProcessFacts& facts, const ProcessClaimRules& rules, OwnerProof* proof) {
  if (facts.group.kind == GroupKind::kSlurm) {
    *proof = OwnerProof::kCgroup;
    return MayRun(facts.group.job, rules) ? facts.group.job : "";
  }
  *proof = OwnerProof::kEnvironment;
  const std::string job = ValueAt(facts.values, "SLURM_JOB_ID");
  return IsJobId(job) && MayRun(job, rules) ? job : "";
}

OwnerClaim SlurmClaim(const std::string& job, const ProcessFacts& facts, const ProcessClaimRules& rules) {
  OwnerClaim claim;
  claim.raw_id = job;
  Owner& owner = claim.holding.owner;
  owner.cluster = rules.cluster;
  owner.job = job;
  const EnvironValues& values = facts.values;
  if (ValueAt(values, "SLURM_JOB_ID") != job) return claim;  // the variables may be of another job
  const std::string array = ValueAt(values, "SLURM_ARRAY_JOB_ID");
  const std::string task = ValueAt(values, "SLURM_ARRAY_TASK_ID");
  if (IsJobId(array) && IsJobId(task)) owner.job = array + "_" + task;
  if (owner.cluster.empty()) owner.cluster = ValueAt(values, "SLURM_CLUSTER_NAME");
  claim.account = ValueAt(values, "SLURM_JOB_ACCOUNT");
  claim.job_name = ValueAt(values, "SLURM_JOB_NAME");
  return claim;
}

OwnerClaim PodClaim(const ProcessFacts& facts, const ProcessClaimRules& rules) {
  OwnerClaim claim;
  claim.raw_id = facts.group.pod;
  const std::string name = rules.pod_name ? rules.pod_name(facts.group.pod) : "";
  claim.holding.owner.job = name.empty() ? "pod:" + facts.group.pod : name;
  claim.ns = name.substr(0, name.find('/'));
  return claim;
}

}  // namespace

std::optional<OwnerClaim> ClaimOfProcess(const ProcessFacts& facts, const ProcessClaimRules& rules) {
  if (!facts.found || facts.group.kind == GroupKind::kSlurmOther) return std::nullopt;
  OwnerClaim claim;
  OwnerProof proof = OwnerProof::kCgroup;
  const std::string run = EnvironKeys::RunOf(facts.values);
  if (const std::string job = JobOfProcess(facts, rules, &proof); !job.empty()) {
    claim = SlurmClaim(job, facts, rules);
  } else if (facts.group.kind == GroupKind::kPod) {
    proof = OwnerProof::kCgroup;
    claim = PodClaim(facts, rules);
  } else if (facts.group.kind == GroupKind::kContainer) {
    constexpr std::size_t kShortId = 12;  // as container engines show it
    proof = OwnerProof::kCgroup;
    claim.holding.owner.job = SafeName(facts.group.engine) + ":" + facts.group.container.substr(0, kShortId);
  } else if (!run.empty()) {
    proof = OwnerProof::kEnvironment;
    claim.holding.owner.job = run;
  } else if (facts.user) {
    proof = OwnerProof::kUser;
  } else {
    return std::nullopt;
  }
  claim.holding.proof = proof;
  if (claim.holding.owner.cluster.empty()) claim.holding.owner.cluster = rules.cluster;
  // The user of a pod's process is a number inside a container: it names nobody on this machine.
  const bool contained = facts.group.kind == GroupKind::kPod || facts.group.kind == GroupKind::kContainer;
  if (facts.user && !contained && rules.user_name) claim.holding.owner.user = rules.user_name(*facts.user);
  return claim;
}

}  // namespace idleburn
