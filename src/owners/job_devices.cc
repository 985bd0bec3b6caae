#include "owners/job_devices.h"

#include <optional>

#include "measure/proc_files.h"
#include "owners/gres_text.h"
#include "text/strings.h"

namespace idleburn {
namespace {

// The devices of a scheduler's list of numbers, in its order. Empty if one of them is not here.
std::vector<std::string> DevicesOfNumbers(const std::string& list, GresOrder order, std::span<const NodeGpu> gpus) {
  std::vector<std::string> uuids;
  const auto numbers = ParseIndexList(list);
  if (!numbers) return uuids;
  for (const std::int64_t number : *numbers) {
    const NodeGpu* gpu = GpuOfGresIndex(number, order, gpus);
    if (gpu == nullptr) return {};
    uuids.push_back(gpu->uuid);
  }
  return uuids;
}

// The devices of a list of UUIDs. Empty if any part is something else.
std::vector<std::string> DevicesOfUuids(const std::string& list, std::span<const NodeGpu> gpus) {
  std::vector<std::string> uuids;
  for (const std::string_view part : Split(list, ',')) {
    if (!part.starts_with("GPU-") && !part.starts_with("MIG-")) return {};
    const NodeGpu* gpu = GpuOfUuid(part, gpus);
    if (gpu == nullptr) return {};
    uuids.push_back(gpu->uuid);
  }
  return uuids;
}

std::string TextOfKey(const EnvironValues& values, std::string_view key) {
  const auto found = values.find(key);
  return found == values.end() ? std::string() : found->second;
}

// What the scheduler's own variables tell.
std::vector<std::string> DevicesOfScheduler(const EnvironValues& values, GresOrder order,
                                            std::span<const NodeGpu> gpus) {
  for (const std::string_view key : {"SLURM_JOB_GPUS", "SLURM_STEP_GPUS"}) {
    const std::string list = TextOfKey(values, key);
    if (!list.empty()) return DevicesOfNumbers(list, order, gpus);
  }
  return {};
}

}  // namespace

std::vector<std::string> DevicesOfJob(const EnvironValues& values, GresOrder order, std::span<const NodeGpu> gpus) {
  std::vector<std::string> uuids = DevicesOfScheduler(values, order, gpus);
  if (!uuids.empty()) return uuids;
  for (const std::string_view key : {"CUDA_VISIBLE_DEVICES", "NVIDIA_VISIBLE_DEVICES"}) {
    uuids = DevicesOfUuids(TextOfKey(values, key), gpus);
    if (!uuids.empty()) return uuids;
  }
  return uuids;
}

std::vector<std::string> VisibleDevices(const EnvironValues& values, GresOrder order, std::span<const NodeGpu> gpus) {
  const std::string visible = TextOfKey(values, "CUDA_VISIBLE_DEVICES");
  std::vector<std::string> uuids = DevicesOfUuids(visible, gpus);
  if (!uuids.empty()) return uuids;
  const std::vector<std::string> held = DevicesOfScheduler(values, order, gpus);
  for (const std::string_view part : Split(visible, ',')) {
    const auto position = NumberOf(part);
    if (!position || static_cast<std::size_t>(*position) >= held.size()) return {};
    uuids.push_back(held[static_cast<std::size_t>(*position)]);
  }
  return uuids;
}

}  // namespace idleburn
