#include "owners/pod_owners.h"

#include <algorithm>
#include <array>

#include "measure/proc_files.h"
#include "text/strings.h"

namespace idleburn {
namespace {

// Of NVIDIA's driver for dynamic resource allocation. Its other driver, of compute domains, allocates no GPUs.
constexpr std::string_view kGpuDriver = "gpu.nvidia.com";
constexpr std::string_view kResourcePrefix = "nvidia.com/";

// "nvidia0/gi3/vgpu1" in its parts.
std::optional<PluginId> ParseGkeId(std::string_view id, std::span<const NodeGpu> gpus) {
  std::optional<std::int64_t> minor;
  std::optional<std::int64_t> gi;
  bool replica = false;
  for (const std::string_view part : Split(id, '/')) {
    if (!minor) {
      minor = part.starts_with("nvidia") ? NumberOf(part.substr(6)) : std::nullopt;
      if (!minor) return std::nullopt;
    } else if (part.starts_with("gi") && !gi && !replica) {
      gi = NumberOf(part.substr(2));
      if (!gi) return std::nullopt;
    } else if (part.starts_with("vgpu") && !replica && NumberOf(part.substr(4))) {
      replica = true;
    } else {
      return std::nullopt;
    }
  }
  if (!minor) return std::nullopt;
  const NodeGpu* gpu = GpuOfMinor(*minor, gi, gpus);
  return gpu == nullptr ? std::nullopt : std::optional(PluginId{gpu->uuid, replica});
}

// Replicas of each device that the plugins offer.
std::map<std::string, std::int64_t> ReplicasOf(const std::vector<PluginDevices>& allocatable,
                                               std::span<const NodeGpu> gpus) {
  std::map<std::string, std::set<std::string>> ids;
  for (const PluginDevices& devices : allocatable) {
    if (!devices.resource.starts_with(kResourcePrefix)) continue;
    for (const std::string& id : devices.ids) {
      const auto parsed = ParsePluginId(id, gpus);
      if (parsed && parsed->replica) ids[parsed->uuid].insert(id);
    }
  }
  std::map<std::string, std::int64_t> counts;
  for (const auto& [uuid, replicas] : ids) counts[uuid] = static_cast<std::int64_t>(replicas.size());
  return counts;
}

// The devices of one pod. Adds what cannot be found to *lost.
void CollectDevices(const ListedPod& pod, const PodView& view, std::span<const NodeGpu> gpus, HeldByPods* held,
                    std::size_t* lost) {
  const std::pair key(pod.ns, pod.name);
  for (const PluginDevices& devices : pod.devices) {
    if (!devices.resource.starts_with(kResourcePrefix)) continue;
    for (const std::string& id : devices.ids) {
      const auto parsed = ParsePluginId(id, gpus);
      if (!parsed) {
        ++*lost;
        continue;
      }
      HeldDevice& device = (*held)[parsed->uuid];
      device.shared = device.shared || parsed->replica;
      ++device.replicas[key];
    }
  }
  for (const DraDevice& claim : pod.claims) {
    if (claim.driver != kGpuDriver) continue;
    const auto uuid = view.slices.find(claim);
    const NodeGpu* gpu = uuid == view.slices.end() ? nullptr : GpuOfUuid(uuid->second, gpus);
    if (gpu == nullptr || HasInstances(*gpu, gpus)) {
      ++*lost;
    } else {
      // Several containers of a pod may use one claim: that is one share.
      (*held)[gpu->uuid].replicas.try_emplace(key, 1);
    }
  }
}

}  // namespace

Owner OwnerOfPod(std::string_view ns, std::string_view name) {
  Owner owner;
  owner.job = SafeName(ns) + "/" + SafeName(name);
  return owner;
}

std::optional<PluginId> ParsePluginId(std::string_view id, std::span<const NodeGpu> gpus) {
  if (id.starts_with("nvidia")) return ParseGkeId(id, gpus);
  const std::size_t colons = id.find("::");
  const bool replica = colons != std::string_view::npos;
  if (replica && !NumberOf(id.substr(colons + 2))) return std::nullopt;
  const NodeGpu* gpu = GpuOfUuid(id.substr(0, colons), gpus);
  if (gpu == nullptr || HasInstances(*gpu, gpus)) return std::nullopt;
  return PluginId{gpu->uuid, replica};
}

// Kubernetes allows no "_" in names, so the parts of "<namespace>_<name>_<uid>" are unambiguous.
std::string PodOwners::UidInLogs(const Key& key, const PodView& view) {
  const std::string start = key.first + "_" + key.second + "_";
  std::string uid;
  for (const std::string& folder : view.log_folders) {
    if (!folder.starts_with(start)) continue;
    const std::string found = folder.substr(start.size());
    // Logs of a pod that was deleted and made again may lie beside each other: the one that runs counts.
    const auto group = view.groups.pod_has_processes.find(found);
    const bool runs = group != view.groups.pod_has_processes.end() && group->second;
    if (uid.empty() || runs) uid = found;
  }
  return uid;
}

PodOwners::Pod& PodOwners::Track(const Key& key, const PodView& view, SourceAnswer* answer) {
  const auto [at, added] = pods_.try_emplace(key);
  Pod& pod = at->second;
  const std::string uid = UidInLogs(key, view);
  const bool another = !added && !uid.empty() && !pod.uid.empty() && uid != pod.uid;
  if (another && pod.holds) answer->ended.push_back(EndedPod(key, pod));
  if (added || another) {
    pod = Pod{};
    const auto made = uid.empty() || !view.made ? std::nullopt : view.made(key.first + "_" + key.second + "_" + uid);
    pod.start = made && *made <= view.now ? *made : view.now;
  }
  if (!uid.empty()) pod.uid = uid;
  return pod;
}

bool PodOwners::HasEnded(Pod* pod, const PodView& view) {
  if (pod->uid.empty() || !view.groups.pods) return false;
  const auto group = view.groups.pod_has_processes.find(pod->uid);
  const bool exists = group != view.groups.pod_has_processes.end();
  const bool runs = exists && group->second;
  pod->seen_running = pod->seen_running || runs;
  return !runs && (pod->seen_running || !exists);
}

void PodOwners::AddClaims(const HeldByPods& held, const PodView& view, std::span<const NodeGpu> gpus,
                          SourceAnswer* answer) const {
  const auto offered = view.allocatable ? ReplicasOf(*view.allocatable, gpus) : std::map<std::string, std::int64_t>();
  for (const auto& [uuid, device] : held) {
    std::int64_t total = 0;
    for (const auto& [key, count] : device.replicas) total += device.shared ? count : 1;
    const auto all = offered.find(uuid);
    const bool whole = !device.shared && device.replicas.size() == 1;
    for (const auto& [key, count] : device.replicas) {
      const Pod& pod = pods_.at(key);
      OwnerClaim claim;
      claim.holding.uuid = uuid;
      claim.holding.owner = OwnerOfPod(key.first, key.second);
      claim.holding.owner.start = pod.start;
      claim.ns = SafeName(key.first);
      claim.raw_id = pod.uid;
      claim.holding.part = device.shared ? count : 1;
      claim.holding.parts = all == offered.end() ? total : std::max(all->second, total);
      claim.holding.proof = whole ? OwnerProof::kScheduler : OwnerProof::kEstimated;
      answer->claims.push_back(std::move(claim));
    }
  }
}

void PodOwners::EndOthers(const std::set<Key>& holding, const PodView& view, SourceAnswer* answer) {
  for (auto& [key, pod] : pods_) {
    if (pod.holds && !holding.contains(key)) answer->ended.push_back(EndedPod(key, pod));
    pod.holds = holding.contains(key);
  }
  std::set<Key> listed;
  for (const ListedPod& pod : view.pods) listed.insert({pod.ns, pod.name});
  std::erase_if(pods_, [&](const auto& entry) { return !listed.contains(entry.first); });
}

Owner PodOwners::EndedPod(const Key& key, const Pod& pod) {
  Owner owner = OwnerOfPod(key.first, key.second);
  owner.start = pod.start;
  return owner;
}

SourceAnswer PodOwners::Update(const PodView& view, std::span<const NodeGpu> gpus) {
  SourceAnswer answer;
  HeldByPods held;
  std::set<Key> holding;
  std::size_t lost = 0;
  bool blind = false;  // the end of some pod cannot be seen
  for (const ListedPod& listed : view.pods) {
    HeldByPods own;
    std::size_t own_lost = 0;
    CollectDevices(listed, view, gpus, &own, &own_lost);
    if (own.empty() && own_lost == 0) continue;
    const Key key(listed.ns, listed.name);
    Pod& pod = Track(key, view, &answer);
    if (HasEnded(&pod, view)) continue;
    holding.insert(key);
    blind = blind || pod.uid.empty() || !view.groups.pods;
    lost += own_lost;
    CollectDevices(listed, view, gpus, &held, &own_lost);
  }
  AddClaims(held, view, gpus, &answer);
  EndOthers(holding, view, &answer);
  if (lost > 0) {
    answer.complete = false;
    answer.errors.push_back("kubernetes: pods hold " + std::to_string(lost) +
                            (lost == 1 ? " device that is" : " devices that are") +
                            " not known here; dynamic resource allocation needs the list of ResourceSlices");
  }
  if (blind) {
    answer.errors.emplace_back(
        "kubernetes: the control group or log folder of a pod is not visible, so idleburn sees its end only when the "
        "kubelet stops listing it");
  }
  return answer;
}

std::string PodOwners::NameOfUid(const std::string& uid) const {
  for (const auto& [key, pod] : pods_) {
    if (!uid.empty() && pod.uid == uid) return SafeName(key.first) + "/" + SafeName(key.second);
  }
  return "";
}

}  // namespace idleburn
