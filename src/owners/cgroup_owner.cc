#include "owners/cgroup_owner.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <filesystem>
#include <string>
#include <vector>

#include "measure/proc_files.h"
#include "os/folder.h"
#include "os/kept_file.h"
#include "text/strings.h"

namespace idleburn {
namespace {

constexpr std::size_t kMostPath = 4096;

bool AllHex(std::string_view text) {
  return std::all_of(text.begin(), text.end(),
                     [](char c) { return std::isxdigit(static_cast<unsigned char>(c)) != 0; });
}

// The number of "job_211"; empty for anything else.
std::string_view JobNumber(std::string_view part) {
  if (!part.starts_with("job_")) return {};
  const std::string_view digits = part.substr(4);
  return !digits.empty() && digits.size() <= 18 && AllDigits(digits) ? digits : std::string_view();
}

// Whether a component is Slurm's own folder, and its host if the machine runs several slurmd.
bool IsSlurmFolder(std::string_view part, std::string* host) {
  constexpr std::string_view kScope = "slurmstepd.scope";
  if (part == "slurm" || part == kScope) return true;
  if (part.starts_with("slurm_")) {
    *host = part.substr(6);
    return true;
  }
  if (!part.ends_with(kScope) || part.size() < kScope.size() + 2 || part[part.size() - kScope.size() - 1] != '_') {
    return false;
  }
  *host = part.substr(0, part.size() - kScope.size() - 1);
  return true;
}

// The UID of a pod in "pod<UID>" or "kubepods-burstable-pod<UID_>.slice"; empty if there is none.
std::string PodUid(std::string_view part) {
  if (part.ends_with(".slice")) part.remove_suffix(6);
  const std::size_t at = part.rfind("pod");
  if (at == std::string_view::npos || (at > 0 && part[at - 1] != '-')) return {};
  std::string uid(part.substr(at + 3));
  std::replace(uid.begin(), uid.end(), '_', '-');
  std::string plain = uid;
  std::erase(plain, '-');
  return plain.size() == 32 && AllHex(plain) ? uid : std::string();
}

// The engine and id of a container: "cri-containerd-<64 hex>.scope", "docker-<id>.scope", "<id>".
bool ReadContainer(std::string_view part, GroupOwner* owner) {
  constexpr std::size_t kIdSize = 64;
  struct Engine {
    std::string_view prefix;
    std::string_view name;
  };
  static constexpr auto kEngines = std::to_array<Engine>({{"cri-containerd-", "containerd"},
                                                          {"crio-", "crio"},
                                                          {"docker-", "docker"},
                                                          {"libpod-", "podman"},
                                                          {"nerdctl-", "containerd"}});
  if (part.ends_with(".scope")) part.remove_suffix(6);
  std::string_view engine;
  for (const Engine& row : kEngines) {
    if (!part.starts_with(row.prefix)) continue;
    part.remove_prefix(row.prefix.size());
    engine = row.name;
    break;
  }
  if (part.size() != kIdSize || !AllHex(part)) return false;
  owner->container = part;
  if (!engine.empty()) owner->engine = engine;
  return true;
}

std::vector<std::string_view> PartsOfPath(std::string_view path) {
  std::vector<std::string_view> parts;
  for (const std::string_view part : Split(path.substr(0, kMostPath), '/')) {
    if (!part.empty()) parts.push_back(part);
  }
  return parts;
}

// A path with a folder of Slurm in it.
GroupOwner SlurmOwner(const std::vector<std::string_view>& parts, std::size_t folder, std::string host) {
  GroupOwner owner;
  owner.host = std::move(host);
  for (std::size_t i = folder + 1; i < parts.size(); ++i) {
    if (owner.job.empty()) {
      owner.job = JobNumber(parts[i]);
    } else if (parts[i].starts_with("step_") && owner.step.empty()) {
      owner.step = parts[i].substr(5);
    }
  }
  if (!owner.job.empty()) {
    owner.kind = GroupKind::kSlurm;
  } else if (folder + 1 < parts.size() && parts[folder + 1] != "system" && !parts[folder + 1].starts_with("uid_")) {
    owner.kind = GroupKind::kSlurmOther;
  }
  return owner;
}

// The most telling kind has the lowest rank.
int RankOf(GroupKind kind) {
  switch (kind) {
    case GroupKind::kSlurm:
      return 0;
    case GroupKind::kSlurmOther:
      return 1;
    case GroupKind::kPod:
      return 2;
    case GroupKind::kContainer:
      return 3;
    case GroupKind::kUser:
      return 4;
    case GroupKind::kNone:
      break;
  }
  return 5;
}

bool HasProcesses(const std::string& folder, int depth) {
  if (!FileText(folder + "/cgroup.procs").empty()) return true;
  if (depth == 0) return false;
  std::error_code ignored;
  for (const auto& entry : std::filesystem::directory_iterator(folder, ignored)) {
    if (entry.is_directory(ignored) && HasProcesses(entry.path().string(), depth - 1)) return true;
  }
  return false;
}

// Looks for pods in a folder of Kubernetes and in its folders by quality of service.
void FindPods(const std::string& folder, int depth, LiveGroups* groups) {
  constexpr int kContainerDepth = 3;  // a container may make groups of its own
  for (const std::string& name : NamesIn(folder)) {
    const std::string below = folder + "/" + name;
    if (const std::string uid = PodUid(name); !uid.empty()) {
      groups->pod_has_processes[uid] = groups->pod_has_processes[uid] || HasProcesses(below, kContainerDepth);
    } else if (depth > 0 && (name == "besteffort" || name == "burstable" || name.ends_with(".slice"))) {
      FindPods(below, depth - 1, groups);
    }
  }
}

void FindJobs(const std::string& folder, LiveGroups* groups) {
  groups->slurm = true;
  for (const std::string& name : NamesIn(folder)) {
    if (const std::string_view job = JobNumber(name); !job.empty()) groups->jobs[std::string(job)] = true;
    if (name.starts_with("uid_")) FindJobs(folder + "/" + name, groups);
  }
}

// Looks below the root of one hierarchy, or of version 2.
void FindGroupsBelow(const std::string& root, LiveGroups* groups) {
  std::string host;
  for (const std::string& name : NamesIn(root)) {
    if (IsSlurmFolder(name, &host)) FindJobs(root + "/" + name, groups);
    if (name == "kubepods" || name == "kubepods.slice") {
      groups->pods = true;
      FindPods(root + "/" + name, 2, groups);
    }
    if (name == "system.slice") {
      for (const std::string& scope : NamesIn(root + "/" + name)) {
        if (IsSlurmFolder(scope, &host)) FindJobs(root + "/" + name + "/" + scope, groups);
      }
    }
  }
}

}  // namespace

GroupOwner OwnerOfGroup(std::string_view path) {
  const std::vector<std::string_view> parts = PartsOfPath(path);
  GroupOwner owner;
  for (std::size_t i = 0; i < parts.size(); ++i) {
    std::string host;
    if (IsSlurmFolder(parts[i], &host)) return SlurmOwner(parts, i, std::move(host));
    if (std::string uid = PodUid(parts[i]); !uid.empty() && owner.pod.empty()) {
      owner.kind = GroupKind::kPod;
      owner.pod = std::move(uid);
    }
    if (owner.container.empty() && ReadContainer(parts[i], &owner) && owner.pod.empty()) {
      owner.kind = GroupKind::kContainer;
      if (owner.engine.empty()) owner.engine = i > 0 ? std::string(parts[i - 1]) : "container";
    }
    if (owner.kind == GroupKind::kNone && parts[i].starts_with("user-") && parts[i].ends_with(".slice")) {
      const auto user = NumberOf(parts[i].substr(5, parts[i].size() - 11));
      if (user && *user <= UINT32_MAX) {
        owner.kind = GroupKind::kUser;
        owner.user = static_cast<std::uint32_t>(*user);
      }
    }
  }
  return owner;
}

GroupOwner OwnerOfGroups(std::string_view text) {
  GroupOwner best;
  while (!text.empty()) {
    const std::string_view line = TakeLine(&text);
    const std::size_t first = line.find(':');
    const std::size_t second = first == std::string_view::npos ? first : line.find(':', first + 1);
    if (second == std::string_view::npos) continue;
    GroupOwner owner = OwnerOfGroup(line.substr(second + 1));
    const bool longer = owner.kind == best.kind && owner.step.size() > best.step.size();
    if (RankOf(owner.kind) < RankOf(best.kind) || longer) best = std::move(owner);
  }
  return best;
}

LiveGroups FindLiveGroups(const std::string& root) {
  LiveGroups groups;
  FindGroupsBelow(root, &groups);
  for (const std::string& controller : NamesIn(root)) {
    if (controller != "system.slice" && controller != "kubepods.slice" && controller != "kubepods") {
      FindGroupsBelow(root + "/" + controller, &groups);
    }
  }
  return groups;
}

}  // namespace idleburn
