#include "measure/rocm_lane.h"

#include <array>
#include <filesystem>
#include <string_view>
#include <utility>

#include "os/folder.h"
#include "telemetry/sample.h"
#include "text/number.h"

namespace idleburn {
namespace {

// A file of a GPU: what it counts, and how to convert it to the signal's unit (telemetry/sample.h).
struct FileOf {
  Signal signal;
  std::string_view file;  // below device/, or below device/hwmon/*/
  bool hwmon;
  const char* name;
  std::int64_t multiply;
  std::int64_t divide;
  bool fast;
};

// The counters. If several files have the same signal, the first that exists is used.
constexpr std::array<FileOf, 7> kFiles = {{
    {Signal::kUtilization, "gpu_busy_percent", false, "amdgpu.gpu_busy_percent", kPercent, 1, true},
    {Signal::kPower, "power1_average", true, "amdgpu.power1_average", 1, 1000, true},  // uW
    {Signal::kPower, "power1_input", true, "amdgpu.power1_input", 1, 1000, true},
    {Signal::kSmClock, "freq1_input", true, "amdgpu.freq1_input", 1, 1000, true},  // Hz
    {Signal::kTemperature, "temp1_input", true, "amdgpu.temp1_input", 1, 1, false},
    {Signal::kMemoryUsed, "mem_info_vram_used", false, "amdgpu.mem_info_vram_used", 1, 1, false},
    {Signal::kMemoryTotal, "mem_info_vram_total", false, "amdgpu.mem_info_vram_total", 1, 1, false},
}};

// Whether a folder is a GPU's own, and not that of one of its connectors.
bool IsCard(const std::string& name) {  // "card0", not "card0-DP-1"
  return name.size() > 4 && name.starts_with("card") && name.find_first_not_of("0123456789", 4) == std::string::npos;
}

// The PCI bus id in a GPU's uevent file: "0000:c1:00.0". Empty if the driver does not tell it.
std::string BusIdOf(const std::string& uevent) {
  constexpr std::string_view kKey = "PCI_SLOT_NAME=";
  const std::size_t at = uevent.find(kKey);
  if (at == std::string::npos) return {};
  const std::size_t start = at + kKey.size();
  return uevent.substr(start, uevent.find('\n', start) - start);
}

}  // namespace

// Opens the counters of one GPU and enters it. Counters whose files do not exist are left out, so they are no gap.
RocmLane::Gpu RocmLane::OpenGpu(const std::string& folder, int index, DeviceTable& devices, LiveSink& out) {
  DeviceKey key;
  key.index = index;
  const std::string unique = FileText(folder + "unique_id");
  if (!unique.empty()) key.uuid = "GPU-" + unique;
  key.bus_id = BusIdOf(FileText(folder + "uevent"));
  key.name = FileText(folder + "product_name");
  if (key.name.empty()) key.name = "AMD GPU";
  Gpu gpu;
  const std::vector<std::string> monitors = NamesIn(folder + "hwmon");
  const std::string hwmon = folder + "hwmon/" + (monitors.empty() ? "" : monitors[0] + "/");
  std::uint32_t taken = 0;
  std::vector<std::pair<Signal, const char*>> names;
  for (const FileOf& row : kFiles) {
    if ((taken & Bit(row.signal)) != 0) continue;
    KeptFile file((row.hwmon ? hwmon : folder) + std::string(row.file), &files_);
    file.Read(buffer_);
    if (file.fault() == ReadFault::kMissing) continue;
    taken |= Bit(row.signal);
    names.emplace_back(row.signal, row.name);
    gpu.counters.push_back({row.signal, row.multiply, row.divide, row.fast, std::move(file)});
  }
  out.ChangeDevices([&] {
    gpu.id = devices.Enter(key);
    for (const auto& [signal, name] : names) devices.NameCounter(gpu.id, signal, name);
  });
  return gpu;
}

Result<std::unique_ptr<RocmLane>> RocmLane::Open(const std::string& sysfs, DeviceTable& devices, LiveSink& out) {
  std::unique_ptr<RocmLane> lane(new RocmLane);
  const std::string drm = sysfs + "/class/drm/";
  int index = 0;
  for (const std::string& card : NamesIn(drm)) {
    const std::string folder = drm + card + "/device/";
    if (!IsCard(card) || FileText(folder + "vendor") != "0x1002") continue;
    if (!std::filesystem::exists(folder + "gpu_busy_percent")) continue;  // one that only drives a screen
    lane->gpus_.push_back(lane->OpenGpu(folder, index++, devices, out));
  }
  if (lane->gpus_.empty()) return Fail("no AMD GPU: " + drm + "card*/device/gpu_busy_percent does not exist");
  return lane;
}

std::vector<MeasuredGpu> RocmLane::Measured(const DeviceTable& devices) const {
  std::vector<MeasuredGpu> measured;
  for (const Gpu& gpu : gpus_) measured.push_back({gpu.id, GpuMaker::kAmd, {devices[gpu.id].uuid}});
  return measured;
}

// One row for each GPU. A value that cannot be read or is negative is a gap.
void RocmLane::Tick(Instant now, LiveSink& out) {
  const bool slow = slow_.Due(now);
  row_.clear();
  for (Gpu& gpu : gpus_) {
    Sample sample;
    sample.time = now;
    sample.device = gpu.id;
    for (Counter& counter : gpu.counters) {
      if (!counter.fast && !slow) continue;
      const std::optional<std::string_view> text = counter.file.Read(buffer_);
      const std::optional<std::int64_t> value = text ? ParseInteger(WithoutEnd(*text)) : std::nullopt;
      if (value && *value >= 0) {
        SetInRange(counter.signal, static_cast<Int128>(*value) * counter.multiply / counter.divide, sample);
      } else {
        sample.SetUnavailable(counter.signal, Unobserved::kGap);
      }
    }
    row_.push_back(sample);
  }
  out.OnSamples(row_);
}

}  // namespace idleburn
