#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/time.h"
#include "owners/cgroup_owner.h"
#include "owners/node_gpu.h"
#include "owners/pod_resources.h"
#include "owners/resource_slices.h"

namespace idleburn {

// The device that an id of a device plugin means. Absent if the form is not known or no device here has it.
//
//     GPU-<uuid>, MIG-<uuid>              as they are
//     GPU-<uuid>::2, MIG-<uuid>::2        a replica of time slicing or MPS
//     nvidia0, nvidia0/gi3                GKE: /dev/nvidia0, and GPU instance 3 of it
//     nvidia0/vgpu1, nvidia0/gi3/vgpu1    a replica of these
struct PluginId {
  std::string uuid;
  bool replica = false;
};
std::optional<PluginId> ParsePluginId(std::string_view id, std::span<const NodeGpu> gpus);

// What the kubelet and the machine said at one moment.
struct PodView {
  Instant now;
  std::vector<ListedPod> pods;
  // Devices that plugins offer. Absent if the kubelet does not tell: shares of replicas are then guessed.
  std::optional<std::vector<PluginDevices>> allocatable;
  SliceUuids slices;
  LiveGroups groups;
  std::vector<std::string> log_folders;  // names in /var/log/pods: "<namespace>_<name>_<uid>"
  // When such a folder was made, for a pod's start. Absent if the file system does not tell.
  std::function<std::optional<Instant>(const std::string& log_folder)> made;
};

// What pods hold of one device: how many replicas each, by namespace and name. Not shared: the device as a whole.
struct HeldDevice {
  std::map<std::pair<std::string, std::string>, std::int64_t> replicas;
  bool shared = false;
};
using HeldByPods = std::map<std::string, HeldDevice>;  // by UUID

// Turns lists of pods into claims, and remembers pods between lists. The list has no UID and goes on naming pods that
// have ended (kubernetes#119423), so a pod is identified by its folder of logs, and by its control group:
//
//   * Its processes were seen and are gone now: it has ended, although it is listed.
//   * It has logs, but no control group: it has ended before.
//   * Its processes were never seen: it is starting, for example pulling an image, and holds its devices.
//   * Its UID changed: it is another pod of the same name, with another start.
//
// Owners: job "namespace/name". Start: when the folder of logs was made, else when the pod was first seen.
class PodOwners {
 public:
  // The claims of a list, and pods that ended since the one before.
  SourceAnswer Update(const PodView& view, std::span<const NodeGpu> gpus);
  // The namespace and name of a pod by its UID, "namespace/name"; empty if it is not known.
  [[nodiscard]] std::string NameOfUid(const std::string& uid) const;

 private:
  struct Pod {
    std::string uid;
    Instant start;
    bool seen_running = false;
    bool holds = false;  // claims of it were reported by the last Update
  };
  using Key = std::pair<std::string, std::string>;  // namespace, name
  static std::string UidInLogs(const Key& key, const PodView& view);
  Pod& Track(const Key& key, const PodView& view, SourceAnswer* answer);
  static bool HasEnded(Pod* pod, const PodView& view);
  static Owner EndedPod(const Key& key, const Pod& pod);
  void AddClaims(const HeldByPods& held, const PodView& view, std::span<const NodeGpu> gpus,
                 SourceAnswer* answer) const;
  // Reports pods that hold nothing any more, and forgets those that are not listed.
  void EndOthers(const std::set<Key>& holding, const PodView& view, SourceAnswer* answer);

  std::map<Key, Pod> pods_;
};

// How a pod is called as an owner.
Owner OwnerOfPod(std::string_view ns, std::string_view name);

}  // namespace idleburn
