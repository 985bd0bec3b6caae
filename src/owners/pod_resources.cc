#include "owners/pod_resources.h"

#include <owners/pod_resources.pb.h>

#include "owners/unix_grpc.h"

namespace idleburn {
namespace {

constexpr std::size_t kMostAnswer = std::size_t{16} << 20;  // the kubelet's own limit

PluginDevices DevicesOf(const podresources::Devices& message) {
  return {message.resource_name(), {message.device_ids().begin(), message.device_ids().end()}};
}

template <typename Message>
Result<Message> ParseReply(std::string_view bytes) {
  Message message;
  if (!message.ParseFromArray(bytes.data(), static_cast<int>(bytes.size()))) {
    return Fail("the kubelet's answer is no message of the pod-resources API v1");
  }
  return message;
}

}  // namespace

Result<std::vector<ListedPod>> ParsePodList(std::string_view bytes) {
  const auto reply = TRY(ParseReply<podresources::ListReply>(bytes));
  std::vector<ListedPod> pods;
  for (const podresources::Pod& message : reply.pods()) {
    ListedPod pod;
    pod.name = message.name();
    pod.ns = message.namespace_name();
    for (const podresources::Container& container : message.containers()) {
      for (const podresources::Devices& devices : container.devices()) pod.devices.push_back(DevicesOf(devices));
      for (const podresources::Dynamic& claim : container.dynamic_resources()) {
        for (const podresources::Claimed& device : claim.claim_resources()) {
          pod.claims.push_back({device.driver_name(), device.pool_name(), device.device_name()});
        }
      }
    }
    pods.push_back(std::move(pod));
  }
  return pods;
}

Result<std::vector<PluginDevices>> ParseAllocatable(std::string_view bytes) {
  const auto reply = TRY(ParseReply<podresources::AllocatableReply>(bytes));
  std::vector<PluginDevices> devices;
  for (const podresources::Devices& message : reply.devices()) devices.push_back(DevicesOf(message));
  return devices;
}

Result<std::vector<ListedPod>> ListPods(const std::string& socket, Nanos timeout) {
  const std::string bytes = TRY(CallUnixGrpc(socket, "/v1.PodResourcesLister/List", "", timeout, kMostAnswer));
  return ParsePodList(bytes);
}

Result<std::vector<PluginDevices>> ListAllocatable(const std::string& socket, Nanos timeout) {
  const std::string bytes =
      TRY(CallUnixGrpc(socket, "/v1.PodResourcesLister/GetAllocatableResources", "", timeout, kMostAnswer));
  return ParseAllocatable(bytes);
}

}  // namespace idleburn
