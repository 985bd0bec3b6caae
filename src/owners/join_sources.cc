#include "owners/join_sources.h"

#include <algorithm>
#include <array>
#include <optional>
#include <set>
#include <utility>

#include "owners/job_devices.h"
#include "text/strings.h"

namespace idleburn {
namespace {

// Joins one moment. A class, because the steps share the view and the result.
class SourceJoin {
 public:
  SourceJoin(const SourceView& view, JoinMemory* memory) : view_(view), memory_(memory) {}

  Holdings Run() {
    IdentifyProcesses();
    for (const NodeGpu& gpu : view_.gpus) {
      if (!HasInstances(gpu, view_.gpus)) JoinDevice(gpu.uuid);
    }
    SpreadJobs();
    Remember();
    return Finish();
  }

 private:
  using ProcessKey = std::pair<std::int64_t, std::int64_t>;
  using Claims = std::vector<OwnerClaim>;

  static Claims ClaimsOn(const SourceAnswer* answer, const std::string& uuid) {
    Claims claims;
    if (answer == nullptr) return claims;
    for (const OwnerClaim& claim : answer->claims) {
      if (claim.holding.uuid == uuid) claims.push_back(claim);
    }
    return claims;
  }

  static bool CallsUnknown(const SourceAnswer* answer, const std::string& uuid) {
    return answer != nullptr &&
           std::find(answer->unknown.begin(), answer->unknown.end(), uuid) != answer->unknown.end();
  }

  [[nodiscard]] bool SchedulersComplete() const {
    return (view_.slurm == nullptr || view_.slurm->complete) && (view_.pods == nullptr || view_.pods->complete);
  }

  // The owner of each process, with the scheduler's name of its job where there is one.
  void IdentifyProcesses() {
    for (const auto& [uuid, holders] : view_.holders) {
      for (const HolderProcess& holder : holders) {
        const ProcessKey key(holder.pid, holder.start_ticks);
        if (holder.facts == nullptr || processes_.contains(key)) continue;
        processes_[key] = Identified(holder);
        if (holder.facts->environ_denied) ++denied_;
        if (holder.facts->group.kind == GroupKind::kSlurmOther) ++unnamed_;
      }
    }
  }

  std::optional<OwnerClaim> Identified(const HolderProcess& holder) {
    std::optional<OwnerClaim> claim = ClaimOfProcess(*holder.facts, view_.rules);
    if (!claim || claim->raw_id.empty() || holder.facts->group.kind == GroupKind::kPod) return claim;
    if (const OwnerClaim* record = RecordOf(claim->raw_id)) {
      // Anybody can set SLURM_JOB_ID: it counts only for a job of the same user.
      const bool forged =
          claim->holding.proof == OwnerProof::kEnvironment && record->holding.owner.user != claim->holding.owner.user;
      if (forged) {
        claim->raw_id.clear();
        claim->holding.owner = Owner{};
        claim->holding.owner.cluster = view_.rules.cluster;
        if (holder.facts->user && view_.rules.user_name) {
          claim->holding.owner.user = view_.rules.user_name(*holder.facts->user);
        }
        claim->holding.proof = OwnerProof::kUser;
        return claim;
      }
      Name(*record, &*claim);
    } else if (const auto known = memory_->confirmed.find({holder.pid, holder.start_ticks});
               known != memory_->confirmed.end() && known->second.raw_id == claim->raw_id) {
      Name(known->second, &*claim);
    }
    return claim;
  }

  // Gives a claim the name that the scheduler has for its job.
  static void Name(const OwnerClaim& record, OwnerClaim* claim) {
    claim->holding.owner = record.holding.owner;
    claim->account = record.account;
    claim->job_name = record.job_name;
  }

  // The scheduler's record of a job by its number. Null if Slurm has none.
  [[nodiscard]] const OwnerClaim* RecordOf(const std::string& raw_id) const {
    if (view_.slurm == nullptr) return nullptr;
    const auto found = std::find_if(view_.slurm->claims.begin(), view_.slurm->claims.end(),
                                    [&](const OwnerClaim& claim) { return claim.raw_id == raw_id; });
    return found == view_.slurm->claims.end() ? nullptr : &*found;
  }

  void JoinDevice(const std::string& uuid) {
    const Claims by_slurm = ClaimsOn(view_.slurm, uuid);
    const Claims by_pods = ClaimsOn(view_.pods, uuid);
    Claims by_files = ClaimsOn(view_.files, uuid);
    MergeEqual(&by_files);
    if (!by_slurm.empty() && !by_pods.empty()) {
      Conflict(uuid,
               "slurm says " + by_slurm[0].holding.owner.job + ", kubernetes says " + by_pods[0].holding.owner.job);
      return CallUnknown(uuid);
    }
    if (!by_slurm.empty() || !by_pods.empty()) {
      const Claims& claims = by_slurm.empty() ? by_pods : by_slurm;
      if (!by_slurm.empty() && !by_files.empty() && !Agree(by_slurm, by_files)) {
        Conflict(uuid, "slurm says job " + by_slurm[0].holding.owner.job + ", a job file says " + by_files[0].raw_id);
      }
      return TakeRecorded(claims, uuid);
    }
    if (CallsUnknown(view_.slurm, uuid) || CallsUnknown(view_.pods, uuid)) return CallUnknown(uuid);
    const bool slurm_is_sure = view_.slurm != nullptr && view_.slurm->complete;
    if (slurm_is_sure && !by_files.empty()) {
      Conflict(uuid, "slurm says it is not allocated, a job file says " + by_files[0].raw_id);
      by_files.clear();
    }
    if (!by_files.empty()) return TakeRecorded(by_files, uuid);
    if (!slurm_is_sure && CallsUnknown(view_.files, uuid)) return CallUnknown(uuid);
    JoinProcesses(uuid);
  }

  // Two folders may name the same job.
  static void MergeEqual(Claims* claims) {
    Claims merged;
    for (OwnerClaim& claim : *claims) {
      const auto equal = [&](const OwnerClaim& other) { return other.raw_id == claim.raw_id; };
      const auto same = std::find_if(merged.begin(), merged.end(), equal);
      if (same == merged.end()) {
        merged.push_back(std::move(claim));
      } else if (claim.holding.owner.start) {
        same->holding.owner.start = claim.holding.owner.start;
        same->holding.owner.user = claim.holding.owner.user;
      }
    }
    for (OwnerClaim& claim : merged) {
      claim.holding.parts = static_cast<std::int64_t>(merged.size());
      if (merged.size() > 1) claim.holding.proof = OwnerProof::kEstimated;
    }
    *claims = std::move(merged);
  }

  static bool Agree(const Claims& records, const Claims& others) {
    return std::all_of(others.begin(), others.end(), [&](const OwnerClaim& other) {
      return std::any_of(records.begin(), records.end(), [&](const OwnerClaim& record) {
        return record.raw_id == other.raw_id || record.holding.owner.job == other.raw_id;
      });
    });
  }

  // Owners by a record, with their processes. A sole owner has all processes that name no other job.
  void TakeRecorded(const Claims& claims, const std::string& uuid) {
    const auto holders = view_.holders.find(uuid);
    for (const OwnerClaim& claim : claims) {
      OwnerClaim& taken = result_.emplace_back(claim);
      if (holders == view_.holders.end()) continue;
      for (const HolderProcess& holder : holders->second) {
        const auto found = processes_.find({holder.pid, holder.start_ticks});
        if (found == processes_.end()) continue;
        const std::string other = found->second ? found->second->raw_id : "";
        if (other == claim.raw_id && !other.empty()) {
          memory_->confirmed[found->first] = claim;
        } else if (claims.size() > 1) {
          continue;
        } else if (!other.empty() && !claim.raw_id.empty()) {
          Conflict(uuid, "it is held by " + claim.holding.owner.job + ", but process " + std::to_string(holder.pid) +
                             " on it is of " + found->second->holding.owner.job);
          continue;
        }
        AddProcess(holder, &taken);
      }
    }
  }

  void AddProcess(const HolderProcess& holder, OwnerClaim* claim) {
    // What somebody does in a session that Slurm adopted is not the job's work.
    if (holder.facts->group.step != "extern") claim->holding.pids.push_back(holder.pid);
    std::string& experiment = experiments_[KeyOfOwner(claim->holding.owner)];
    if (experiment.empty()) experiment = view_.keys->ExperimentOf(holder.facts->values);
    std::string& team = own_teams_[KeyOfOwner(claim->holding.owner)];
    const auto named = holder.facts->values.find("IDLEBURN_TEAM");
    if (team.empty() && named != holder.facts->values.end()) team = named->second;
  }

  // A device without a record: by its processes. The surest evidence counts.
  void JoinProcesses(const std::string& uuid) {
    const auto holders = view_.holders.find(uuid);
    const bool held = holders != view_.holders.end() && !holders->second.empty();
    Claims best;
    for (const HolderProcess& holder : held ? holders->second : std::vector<HolderProcess>()) {
      const auto found = processes_.find({holder.pid, holder.start_ticks});
      if (found == processes_.end() || !found->second) continue;
      OwnerClaim claim = *found->second;
      if (claim.holding.proof == OwnerProof::kUser && !SchedulersComplete()) continue;
      if (!best.empty() && claim.holding.proof < best[0].holding.proof) best.clear();
      if (!best.empty() && claim.holding.proof > best[0].holding.proof) continue;
      const auto same = std::find_if(best.begin(), best.end(),
                                     [&](const OwnerClaim& c) { return c.holding.owner == claim.holding.owner; });
      OwnerClaim& owner = same == best.end() ? best.emplace_back(std::move(claim)) : *same;
      owner.holding.uuid = uuid;
      AddProcess(holder, &owner);
    }
    if (best.empty()) {
      if (held || !SchedulersComplete()) CallUnknown(uuid);
      return;
    }
    for (OwnerClaim& claim : best) {
      claim.holding.parts = static_cast<std::int64_t>(best.size());
      if (best.size() > 1) claim.holding.proof = OwnerProof::kEstimated;
      result_.push_back(std::move(claim));
    }
  }

  // Where Slurm does not tell all, the variables of a job's process name its other devices, also those without a
  // process.
  void SpreadJobs() {
    if (view_.slurm != nullptr && view_.slurm->complete) return;
    for (const auto& [uuid, holders] : view_.holders) {
      for (const HolderProcess& holder : holders) {
        const auto found = processes_.find({holder.pid, holder.start_ticks});
        if (found == processes_.end() || !found->second || !holder.facts->values.contains("SLURM_JOB_ID")) continue;
        const OwnerClaim& claim = *found->second;
        if (claim.raw_id.empty() || claim.holding.proof > OwnerProof::kEnvironment) continue;
        for (const std::string& other : DevicesOfJob(holder.facts->values, view_.order, view_.gpus)) {
          if (!IsFree(other)) continue;
          OwnerClaim spread = claim;
          spread.holding.uuid = other;
          spread.holding.proof = OwnerProof::kEnvironment;
          std::erase(holdings_.unknown, other);
          result_.push_back(std::move(spread));
        }
      }
    }
  }

  // Whether nobody is known to hold a device, and no process is on it.
  [[nodiscard]] bool IsFree(const std::string& uuid) const {
    const auto holders = view_.holders.find(uuid);
    if (holders != view_.holders.end() && !holders->second.empty()) return false;
    if (CallsUnknown(view_.slurm, uuid) || CallsUnknown(view_.pods, uuid)) return false;
    return std::none_of(result_.begin(), result_.end(), [&](const OwnerClaim& c) { return c.holding.uuid == uuid; });
  }

  void CallUnknown(const std::string& uuid) { holdings_.unknown.push_back(uuid); }
  void Conflict(const std::string& uuid, const std::string& what) { conflicts_.push_back(uuid + ": " + what); }

  // Names that start with _ are those of buckets, such as _unallocated, and nobody may take one.
  void KeepApart(std::string* name) {
    if (!name->starts_with('_')) return;
    reserved_.insert(*name);
    name->clear();
  }

  // Labels of an owner: rules first, then what the scheduler enforces, and last what its own processes say.
  Owner Labelled(const OwnerClaim& claim) const {
    Owner owner = claim.holding.owner;
    const std::string key = KeyOfOwner(owner);
    const Labels labels = view_.labels->LabelsOf({owner.user, claim.account, claim.ns, claim.job_name});
    const auto told = experiments_.find(key);
    const auto before = memory_->owners.find(key);
    owner.team = labels.team;
    if (owner.team.empty()) owner.team = claim.account.empty() ? claim.ns : claim.account;
    if (owner.team.empty() && own_teams_.contains(key)) owner.team = own_teams_.at(key);
    owner.project = labels.project;
    if (told != experiments_.end()) owner.experiment = told->second;
    if (before == memory_->owners.end()) return owner;
    // A job keeps what it was called first, so that its counters keep their labels.
    if (!before->second.experiment.empty()) owner.experiment = before->second.experiment;
    if (owner.team.empty()) owner.team = before->second.team;
    return owner;
  }

  void Remember() {
    std::map<std::string, Owner> owners;
    for (OwnerClaim& claim : result_) {
      claim.holding.owner = Labelled(claim);
      KeepApart(&claim.holding.owner.team);
      KeepApart(&claim.holding.owner.experiment);
      owners[KeyOfOwner(claim.holding.owner)] = claim.holding.owner;
    }
    // Owners that ended now are still named with their labels.
    for (const SourceAnswer* answer : {view_.slurm, view_.pods}) {
      if (answer == nullptr) continue;
      for (Owner ended : answer->ended) {
        const auto known = memory_->owners.find(KeyOfOwner(ended));
        holdings_.ended.push_back(known == memory_->owners.end() ? ended : known->second);
      }
    }
    memory_->owners = std::move(owners);
    std::erase_if(memory_->confirmed, [&](const auto& entry) { return !processes_.contains(entry.first); });
  }

  Holdings Finish() {
    for (OwnerClaim& claim : result_) holdings_.held.push_back(std::move(claim.holding));
    for (const SourceAnswer* answer : {view_.slurm, view_.pods, view_.files}) {
      if (answer != nullptr)
        holdings_.errors.insert(holdings_.errors.end(), answer->errors.begin(), answer->errors.end());
    }
    if (!conflicts_.empty()) {
      holdings_.errors.push_back(
          "sources contradict each other on " + conflicts_[0] +
          (conflicts_.size() == 1 ? "" : "; and " + std::to_string(conflicts_.size() - 1) + " more contradictions"));
    }
    if (!reserved_.empty()) {
      holdings_.errors.push_back("names: " + Printable(*reserved_.begin()) +
                                 " is not taken as a team or experiment; choose a name that does not start with _");
    }
    const std::string all = std::to_string(processes_.size());
    if (denied_ > 0) {
      holdings_.errors.push_back("processes: the environment of " + std::to_string(denied_) + " of " + all +
                                 " processes is not readable, so their run and experiment are unknown (other users' "
                                 "need CAP_SYS_PTRACE)");
    }
    if (unnamed_ > 0) {
      holdings_.errors.push_back("processes: the control group of " + std::to_string(unnamed_) + " of " + all +
                                 " processes is Slurm's, but names no job; set CgroupJobIdPaths=yes in cgroup.conf");
    }
    return std::move(holdings_);
  }

  const SourceView& view_;
  JoinMemory* memory_;
  Holdings holdings_;
  Claims result_;
  std::map<ProcessKey, std::optional<OwnerClaim>> processes_;  // those that are here
  std::map<std::string, std::string> experiments_;             // by owner
  std::map<std::string, std::string> own_teams_;
  std::vector<std::string> conflicts_;
  std::set<std::string> reserved_;  // names that were refused
  std::size_t denied_ = 0;
  std::size_t unnamed_ = 0;
};

}  // namespace

std::string KeyOfOwner(const Owner& owner) {
  std::string key = owner.cluster + '\n' + owner.job + '\n';
  if (owner.job.empty()) key += owner.user;
  return key + '\n' + (owner.start ? std::to_string(owner.start->nanos()) : "");
}

Holdings JoinSources(const SourceView& view, JoinMemory* memory) { return SourceJoin(view, memory).Run(); }

}  // namespace idleburn
