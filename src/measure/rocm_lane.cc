#include "measure/rocm_lane.h"

#include <array>
#include <string_view>
#include <utility>

#include "text/number.h"

namespace idleburn {
namespace {

struct FileOf {
  Signal signal;
  std::string_view file;  // below device/, or below device/hwmon/*/
  bool hwmon;
  const char* name;
  std::int64_t multiply;
  std::int64_t divide;
  bool fast;
};

// Where several files say the same, the first that is there is taken.
constexpr std::array<FileOf, 7> kFiles = {{
    {Signal::kUtilization, "gpu_busy_percent", false, "amdgpu.gpu_busy_percent", kPercent, 1, true},
    {Signal::kPower, "power1_average", true, "amdgpu.power1_average", 1, 1000, true},  // uW
    {Signal::kPower, "power1_input", true, "amdgpu.power1_input", 1, 1000, true},
    {Signal::kSmClock, "freq1_input", true, "amdgpu.freq1_input", 1, 1000, true},  // Hz
    {Signal::kTemperature, "temp1_input", true, "amdgpu.temp1_input", 1, 1, false},
    {Signal::kMemoryUsed, "mem_info_vram_used", false, "amdgpu.mem_info_vram_used", 1, 1, false},
    {Signal::kMemoryTotal, "mem_info_vram_total", false, "amdgpu.mem_info_vram_total", 1, 1, false},
}};

bool IsCard(const std::string& name) {  // "card0", not "card0-DP-1"
  return name.size() > 4 && name.rfind("card", 0) == 0 && name.find_first_not_of("0123456789", 4) == std::string::npos;
}

std::string BusIdOf(const std::string& uevent) {
  constexpr std::string_view kKey = "PCI_SLOT_NAME=";
  const std::size_t at = uevent.find(kKey);
  if (at == std::string::npos) return {};
  const std::size_t start = at + kKey.size();
  return uevent.substr(start, uevent.find('\n', start) - start);
}

}  // namespace

RocmLane::Gpu RocmLane::OpenGpu(const std::string& folder, int index, DeviceTable& devices, LiveSink& out) {
  DeviceKey key;
  key.index = index;
  const std::string unique = SmallFile(folder + "unique_id").Read();
  if (!unique.empty()) key.uuid = "GPU-" + unique;
  key.bus_id = BusIdOf(SmallFile(folder + "uevent").Read());
  key.name = SmallFile(folder + "product_name").Read();
  if (key.name.empty()) key.name = "AMD GPU";
  Gpu gpu;
  const std::vector<std::string> monitors = NamesIn(folder + "hwmon");
  const std::string hwmon = folder + "hwmon/" + (monitors.empty() ? "" : monitors[0] + "/");
  std::uint32_t taken = 0;
  std::vector<std::pair<Signal, const char*>> names;
  for (const FileOf& row : kFiles) {
    if ((taken & Bit(row.signal)) != 0) continue;
    SmallFile file((row.hwmon ? hwmon : folder) + std::string(row.file));
    if (!file.open()) continue;
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
    if (!IsCard(card) || SmallFile(folder + "vendor").Read() != "0x1002") continue;
    if (!SmallFile(folder + "gpu_busy_percent").open()) continue;  // one that only drives a screen
    lane->gpus_.push_back(OpenGpu(folder, index++, devices, out));
  }
  if (lane->gpus_.empty()) return Fail("no AMD GPU: " + drm + "card*/device/gpu_busy_percent is not there");
  return lane;
}

void RocmLane::Tick(Instant now, LiveSink& out) {
  const bool slow = slow_.Due(now);
  row_.clear();
  for (const Gpu& gpu : gpus_) {
    Sample sample;
    sample.time = now;
    sample.device = gpu.id;
    for (const Counter& counter : gpu.counters) {
      if (!counter.fast && !slow) continue;
      const std::optional<std::int64_t> value = ParseInteger(counter.file.Read());
      const bool percent = Info(counter.signal).unit == Unit::kMicroPercent;
      if (value && *value >= 0 && (!percent || *value <= 100)) {
        sample.Set(counter.signal, *value * counter.multiply / counter.divide);
      } else {
        sample.SetUnavailable(counter.signal, Unobserved::kGap);
      }
    }
    row_.push_back(sample);
  }
  out.OnSamples(row_);
}

}  // namespace idleburn
