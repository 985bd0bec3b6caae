#include "owners/node_gpu.h"

#include <algorithm>
#include <fstream>

#include "text/number.h"
#include "text/strings.h"

namespace idleburn {
namespace {

// The device that a whole GPU stands for: itself, or its instance `gi`.
const NodeGpu* PartOf(const NodeGpu* gpu, std::optional<std::int64_t> gi, std::span<const NodeGpu> gpus) {
  if (gpu == nullptr) return nullptr;
  if (!gi) return HasInstances(*gpu, gpus) ? nullptr : gpu;
  const auto part =
      std::find_if(gpus.begin(), gpus.end(), [&](const NodeGpu& g) { return g.parent == gpu->uuid && g.gi == gi; });
  return part == gpus.end() ? nullptr : &*part;
}

template <typename Test>
const NodeGpu* WholeGpu(std::span<const NodeGpu> gpus, Test test) {
  const auto found =
      std::find_if(gpus.begin(), gpus.end(), [&](const NodeGpu& g) { return g.parent.empty() && test(g); });
  return found == gpus.end() ? nullptr : &*found;
}

}  // namespace

bool HasInstances(const NodeGpu& gpu, std::span<const NodeGpu> gpus) {
  return gpu.parent.empty() &&
         std::any_of(gpus.begin(), gpus.end(), [&](const NodeGpu& g) { return g.parent == gpu.uuid; });
}

const NodeGpu* GpuOfUuid(std::string_view uuid, std::span<const NodeGpu> gpus) {
  const auto found = std::find_if(gpus.begin(), gpus.end(), [&](const NodeGpu& g) {
    return EqualsIgnoreCase(g.uuid, uuid) || (g.uuid.size() == uuid.size() + 4 && g.uuid.starts_with("GPU-") &&
                                              EqualsIgnoreCase(std::string_view(g.uuid).substr(4), uuid));
  });
  return found == gpus.end() ? nullptr : &*found;
}

const NodeGpu* GpuOfIndex(std::int64_t index, std::optional<std::int64_t> gi, std::span<const NodeGpu> gpus) {
  return PartOf(WholeGpu(gpus, [&](const NodeGpu& g) { return g.index == index; }), gi, gpus);
}

const NodeGpu* GpuOfMinor(std::int64_t minor, std::optional<std::int64_t> gi, std::span<const NodeGpu> gpus) {
  return PartOf(WholeGpu(gpus, [&](const NodeGpu& g) { return g.minor == minor; }), gi, gpus);
}

const NodeGpu* GpuOfGresIndex(std::int64_t index, GresOrder order, std::span<const NodeGpu> gpus) {
  if (order == GresOrder::kMinor) return GpuOfMinor(index, std::nullopt, gpus);
  // With MIG the driver's order counts instances too, and which comes first is not documented.
  std::vector<const NodeGpu*> whole;
  for (const NodeGpu& gpu : gpus) {
    if (!gpu.parent.empty()) return nullptr;
    whole.push_back(&gpu);
  }
  std::sort(whole.begin(), whole.end(),
            [](const NodeGpu* a, const NodeGpu* b) { return Lower(a->bus_id) < Lower(b->bus_id); });
  return index >= 0 && static_cast<std::size_t>(index) < whole.size() ? whole[static_cast<std::size_t>(index)]
                                                                      : nullptr;
}

// The driver prints "00000000:3B:00.0"; the kernel's folder is "0000:3b:00.0".
std::optional<std::int64_t> MinorOf(const std::string& proc, std::string_view bus_id) {
  std::string folder = Lower(bus_id);
  if (folder.size() > 12) folder = folder.substr(folder.size() - 12);
  std::ifstream file(proc + "/driver/nvidia/gpus/" + folder + "/information");
  constexpr std::string_view kLine = "Device Minor:";
  for (std::string line; std::getline(file, line);) {
    if (line.rfind(kLine, 0) == 0) return ParseInteger(Trim(std::string_view(line).substr(kLine.size())));
  }
  return std::nullopt;
}

NodeGpu NodeGpuFrom(const Device& device, const std::string& board) {
  NodeGpu gpu;
  gpu.uuid = device.uuid;
  gpu.index = device.index.value_or(-1);
  gpu.bus_id = device.bus_id;
  gpu.parent = board;
  gpu.minor = MinorOf("/proc", device.bus_id);
  if (!gpu.minor && device.index) gpu.minor = *device.index;
  if (device.mig) gpu.gi = ParseInteger(device.mig->id);
  return gpu;
}

std::string SafeName(std::string_view text) {
  constexpr std::size_t kMost = 256;
  // Printable may write three bytes for one, so the text is cut again, between characters.
  std::string safe = Printable(text.substr(0, kMost));
  std::size_t end = std::min(safe.size(), kMost);
  while (end < safe.size() && end > 0 && (static_cast<unsigned char>(safe[end]) & 0xC0U) == 0x80) --end;
  safe.resize(end);
  return safe;
}

}  // namespace idleburn
