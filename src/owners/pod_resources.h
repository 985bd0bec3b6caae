#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "base/time.h"

namespace idleburn {

// Devices of one resource: "nvidia.com/gpu" with ids "GPU-...", "GPU-...::2", "MIG-...", "nvidia0/gi3".
struct PluginDevices {
  std::string resource;
  std::vector<std::string> ids;
};
// A device of dynamic resource allocation. It has no UUID; resource_slices.h finds it.
struct DraDevice {
  std::string driver;
  std::string pool;
  std::string device;

  friend auto operator<=>(const DraDevice&, const DraDevice&) = default;
};
// A pod that the kubelet lists, with the devices of all its containers. Names are hostile text.
struct ListedPod {
  std::string name;
  std::string ns;
  std::vector<PluginDevices> devices;
  std::vector<DraDevice> claims;
};

// Reads the messages of the pod-resources API. Absent fields are empty. Fails if the bytes are no such message.
Result<std::vector<ListedPod>> ParsePodList(std::string_view bytes);
Result<std::vector<PluginDevices>> ParseAllocatable(std::string_view bytes);

// Asks the kubelet which pods have devices: v1.PodResourcesLister/List on its socket. The server allows 100 calls a
// second and bursts of 10, so call it every 10 s.
Result<std::vector<ListedPod>> ListPods(const std::string& socket, Nanos timeout);
// Asks which devices its plugins offer, replicas of time slicing included: GetAllocatableResources.
Result<std::vector<PluginDevices>> ListAllocatable(const std::string& socket, Nanos timeout);

}  // namespace idleburn
