// What every driver's library has.
#include "standin/exports.h"

#include <unistd.h>

#include <cmath>

namespace idleburn::standin {

namespace {

U32 Milliwatt(Board& board, std::int64_t now) {
  return static_cast<U32>(std::lround(board.activity().At(Quantity::kPower, now)));
}

std::vector<nvml::DriverSample> NewSamples(Node& node, Board& board, std::int64_t now, U64 last_seen) {
  std::vector<nvml::DriverSample> samples;
  for (const Published& window : board.Windows(now)) {
    nvml::DriverSample sample{};
    sample.timestamp = node.WallMicros(window.time);
    sample.value.u32 = window.percent;
    if (sample.timestamp > last_seen) samples.push_back(sample);
  }
  return samples;
}

}  // namespace

extern "C" {

nvml::Return nvmlInit_v2() {
  Node& node = Node::This();
  {
    const std::lock_guard lock(node.mutex);
    node.LoadFromEnvironment();
  }
  const nvml::Return trouble = node.Trouble("nvmlInit_v2", nullptr);
  const std::lock_guard lock(node.mutex);
  return trouble != nvml::kSuccess ? trouble : node.Init();
}
nvml::Return nvmlShutdown() {
  const std::lock_guard lock(Node::This().mutex);
  return Node::This().Shutdown();
}
nvml::Return nvmlDeviceGetCount_v2(U32* count) {
  return Enter("nvmlDeviceGetCount_v2", [&](Node& node) {
    *count = static_cast<U32>(node.script.gpus.size());
    return nvml::kSuccess;
  });
}
nvml::Return nvmlDeviceGetHandleByIndex_v2(U32 index, nvml::Device* device) {
  return Enter("nvmlDeviceGetHandleByIndex_v2", [&](Node& node) { return node.HandleAt(index, device); });
}
nvml::Return nvmlSystemGetDriverVersion(char* text, U32 size) {
  return Enter("nvmlSystemGetDriverVersion", [&](Node& node) { return CopyText(node.script.driver, text, size); });
}
nvml::Return nvmlSystemGetNVMLVersion(char* text, U32 size) {
  return Enter("nvmlSystemGetNVMLVersion", [&](Node& node) { return CopyText(node.script.nvml, text, size); });
}
nvml::Return nvmlDeviceGetName(nvml::Device device, char* text, U32 size) {
  return About("nvmlDeviceGetName", device, [&](Node&, Handle& handle, Board& board, std::int64_t) {
    const BoardFacts& facts = board.facts();
    return CopyText(handle.instance ? facts.name + " MIG " + facts.profile : facts.name, text, size);
  });
}
nvml::Return nvmlDeviceGetUUID(nvml::Device device, char* text, U32 size) {
  return About("nvmlDeviceGetUUID", device, [&](Node&, Handle& handle, Board& board, std::int64_t) {
    const std::string& uuid = board.facts().uuid;
    std::string instance = std::to_string(board.facts().gpu_instance);
    if (board.facts().compute_instance > 0) instance += "-" + std::to_string(board.facts().compute_instance);
    return CopyText(handle.instance ? "MIG-" + uuid.substr(4) + "-" + instance : uuid, text, size);
  });
}
nvml::Return nvmlDeviceGetPciInfo_v3(nvml::Device device, nvml::PciInfo* info) {
  return About("nvmlDeviceGetPciInfo_v3", device, [&](Node&, Handle&, Board& board, std::int64_t) {
    *info = {};
    return CopyText(board.facts().bus_id, info->bus_id.data(), 32);
  });
}
nvml::Return nvmlSystemGetCudaDriverVersion_v2(int* version) {
  return Enter("nvmlSystemGetCudaDriverVersion_v2", [&](Node&) {
    *version = 13000;
    return nvml::kSuccess;
  });
}
nvml::Return nvmlDeviceGetVbiosVersion(nvml::Device device, char* text, U32 size) {
  return About("nvmlDeviceGetVbiosVersion", device,
               [&](Node&, Handle&, Board& board, std::int64_t) { return CopyText(board.facts().vbios, text, size); });
}
nvml::Return nvmlDeviceGetCurrPcieLinkGeneration(nvml::Device device, U32* out) {
  return About("nvmlDeviceGetCurrPcieLinkGeneration", device, [&](Node&, Handle&, Board& board, std::int64_t) {
    *out = board.facts().pcie_generation;
    return nvml::kSuccess;
  });
}
nvml::Return nvmlDeviceGetCurrPcieLinkWidth(nvml::Device device, U32* out) {
  return About("nvmlDeviceGetCurrPcieLinkWidth", device, [&](Node&, Handle&, Board& board, std::int64_t) {
    *out = board.facts().pcie_width;
    return nvml::kSuccess;
  });
}
nvml::Return nvmlDeviceGetMaxPcieLinkGeneration(nvml::Device device, U32* out) {
  return About("nvmlDeviceGetMaxPcieLinkGeneration", device, [&](Node&, Handle&, Board&, std::int64_t) {
    *out = 5;
    return nvml::kSuccess;
  });
}
nvml::Return nvmlDeviceGetMaxPcieLinkWidth(nvml::Device device, U32* out) {
  return About("nvmlDeviceGetMaxPcieLinkWidth", device, [&](Node&, Handle&, Board&, std::int64_t) {
    *out = 16;
    return nvml::kSuccess;
  });
}
nvml::Return nvmlDeviceGetNvLinkState(nvml::Device device, U32 link, U32* out) {
  return About("nvmlDeviceGetNvLinkState", device, [&](Node&, Handle&, Board& board, std::int64_t) -> nvml::Return {
    if (link >= 18) return nvml::kInvalidArgument;
    *out = link < board.facts().nvlinks ? 1 : 0;
    return nvml::kSuccess;
  });
}
// Two boards share a switch; pairs of them are on different CPUs.
nvml::Return nvmlDeviceGetTopologyCommonAncestor(nvml::Device a, nvml::Device b, int* out) {
  return About("nvmlDeviceGetTopologyCommonAncestor", a, [&](Node& node, Handle& handle, Board&, std::int64_t) {
    const Handle* const other = node.Find(b);
    if (other == nullptr) return nvml::kInvalidArgument;
    *out = handle.gpu / 2 == other->gpu / 2 ? 10 : 50;
    return nvml::kSuccess;
  });
}
nvml::Return nvmlDeviceGetSamples(nvml::Device device, U32 kind, U64 last_seen, U32* type, U32* count,
                                  nvml::DriverSample* out) {
  return About("nvmlDeviceGetSamples", device, [&](Node& node, Handle& handle, Board& board, std::int64_t now) {
    if (kind != nvml::kSamplesGpuUtilization || handle.instance || !board.facts().samples) return nvml::kNotSupported;
    *type = static_cast<U32>(nvml::ValueType::kUint);
    if (out == nullptr) {
      *count = static_cast<U32>(board.facts().ring);
      return nvml::kSuccess;
    }
    const std::vector<nvml::DriverSample> samples = NewSamples(node, board, now, last_seen);
    if (samples.empty()) return nvml::kNotFound;
    return CopyList(samples, count, out);
  });
}
nvml::Return nvmlDeviceGetUtilizationRates(nvml::Device device, nvml::Utilization* out) {
  return About("nvmlDeviceGetUtilizationRates", device, [&](Node&, Handle& handle, Board& board, std::int64_t now) {
    if (handle.instance) return nvml::kNotSupported;
    const auto& windows = board.Windows(now);
    *out = {windows.empty() ? 0 : windows.back().percent, 0};
    return nvml::kSuccess;
  });
}
nvml::Return nvmlDeviceGetMemoryInfo(nvml::Device device, nvml::Memory* out) {
  return About("nvmlDeviceGetMemoryInfo", device, [&](Node&, Handle&, Board& board, std::int64_t now) {
    const U64 used = board.activity().MemoryUsed(now) + (U64{500} << 20);  // with what the driver reserves
    *out = {board.facts().memory, board.facts().memory - used, used};
    return nvml::kSuccess;
  });
}
nvml::Return nvmlDeviceGetPowerUsage(nvml::Device device, U32* out) {
  return About("nvmlDeviceGetPowerUsage", device, [&](Node&, Handle&, Board& board, std::int64_t now) {
    *out = Milliwatt(board, now);
    return nvml::kSuccess;
  });
}
nvml::Return nvmlDeviceGetTotalEnergyConsumption(nvml::Device device, U64* out) {
  return About("nvmlDeviceGetTotalEnergyConsumption", device, [&](Node&, Handle&, Board& board, std::int64_t now) {
    *out = board.Energy(now);
    return nvml::kSuccess;
  });
}
nvml::Return nvmlDeviceGetEnforcedPowerLimit(nvml::Device device, U32* out) {
  return About("nvmlDeviceGetEnforcedPowerLimit", device, [&](Node&, Handle&, Board& board, std::int64_t) {
    *out = static_cast<U32>(board.facts().limit_mw);
    return nvml::kSuccess;
  });
}
nvml::Return nvmlDeviceGetPowerManagementDefaultLimit(nvml::Device device, U32* out) {
  return About("nvmlDeviceGetPowerManagementDefaultLimit", device, [&](Node&, Handle&, Board& board, std::int64_t) {
    *out = static_cast<U32>(board.facts().default_limit_mw);
    return nvml::kSuccess;
  });
}
nvml::Return nvmlDeviceGetClockInfo(nvml::Device device, U32, U32* out) {
  return About("nvmlDeviceGetClockInfo", device, [&](Node&, Handle&, Board& board, std::int64_t now) {
    *out = static_cast<U32>(board.activity().At(Quantity::kClock, now));
    return nvml::kSuccess;
  });
}
nvml::Return nvmlDeviceGetMaxClockInfo(nvml::Device device, U32, U32* out) {
  return About("nvmlDeviceGetMaxClockInfo", device, [&](Node&, Handle&, Board& board, std::int64_t) {
    *out = static_cast<U32>(board.facts().max_clock_mhz);
    return nvml::kSuccess;
  });
}
nvml::Return nvmlDeviceGetCurrentClocksThrottleReasons(nvml::Device device, U64* out) {
  return About("nvmlDeviceGetCurrentClocksThrottleReasons", device, [&](Node&, Handle&, Board& b, std::int64_t now) {
    *out = b.activity().EventReasons(now);
    return nvml::kSuccess;
  });
}
nvml::Return nvmlDeviceGetTemperature(nvml::Device device, U32, U32* out) {
  return About("nvmlDeviceGetTemperature", device, [&](Node&, Handle&, Board& board, std::int64_t now) {
    *out = board.activity().Celsius(now);
    return nvml::kSuccess;
  });
}
nvml::Return nvmlDeviceGetComputeRunningProcesses(nvml::Device device, U32* count, nvml::ProcessInfoV1* out) {
  return About("nvmlDeviceGetComputeRunningProcesses", device, [&](Node&, Handle&, Board& board, std::int64_t now) {
    std::vector<nvml::ProcessInfoV1> list;
    for (const Process& p : board.activity().Processes(now)) list.push_back({p.pid, p.memory});
    return CopyList(list, count, out);
  });
}

void idleburn_standin_load(const char* script) {
  Node& node = Node::This();
  node.released = true;  // a call that still hangs holds handles of the script before
  while (node.inside > 0) usleep(100);
  node.Load(script);
}
void idleburn_standin_advance(std::int64_t ns) { Node::This().Advance(ns); }
void idleburn_standin_step_wall(std::int64_t ns) { Node::This().StepWall(ns); }
std::int64_t idleburn_standin_now() { return Node::This().Now(); }
std::int64_t idleburn_standin_wall() {
  return static_cast<std::int64_t>(Node::This().WallMicros(Node::This().Now())) * 1000;
}
void idleburn_standin_release() { Node::This().released = true; }
void idleburn_standin_counts(StandinCounts* out) {
  const std::lock_guard lock(Node::This().mutex);
  *out = Node::This().counts;
}

}  // extern "C"

}  // namespace idleburn::standin
