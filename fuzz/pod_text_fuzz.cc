// Any bytes in the place of the kubelet's answers or of ResourceSlices are read or refused; nothing breaks.
#include <string>
#include <string_view>

#include "owners/pod_owners.h"

extern "C" int LLVMFuzzerTestOneInput(const unsigned char* data, std::size_t size) {
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  const std::vector<idleburn::NodeGpu> gpus = {{"GPU-a", 0, "00000000:10:00.0", 0, "", {}}};
  (void)idleburn::ParseAllocatable(bytes);
  (void)idleburn::ParseResourceSlices(std::string(bytes));
  (void)idleburn::ParsePluginId(bytes, gpus);
  const auto pods = idleburn::ParsePodList(bytes);
  if (!pods) return 0;
  idleburn::PodView view;
  view.pods = *pods;
  for (const idleburn::OwnerClaim& claim : idleburn::PodOwners().Update(view, gpus).claims) {
    if (claim.holding.part < 1 || claim.holding.part > claim.holding.parts) __builtin_trap();
  }
  return 0;
}
