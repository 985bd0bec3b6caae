// A driver's library of eight GPUs that answers at once: what remains is the cost of who asks.
#include <atomic>
#include <cstdint>
#include <cstring>

#include "measure/nvml_abi.h"

namespace idleburn::nvml {
namespace {

std::int64_t handles[8];
std::atomic<std::uint32_t> turn{0};

Device HandleOf(std::uint32_t index) { return reinterpret_cast<Device>(&handles[index % 8]); }
std::int64_t IndexOf(Device device) { return reinterpret_cast<std::int64_t*>(device) - handles; }

}  // namespace

extern "C" {

Return nvmlInit_v2() { return kSuccess; }
Return nvmlShutdown() { return kSuccess; }
Return nvmlDeviceGetCount_v2(std::uint32_t* count) {
  *count = 8;
  return kSuccess;
}
Return nvmlDeviceGetHandleByIndex_v2(std::uint32_t index, Device* device) {
  *device = HandleOf(index);
  return kSuccess;
}
Return nvmlDeviceGetUUID(Device device, char* text, std::uint32_t) {
  std::strcpy(text, "GPU-00000000-0000-4000-8000-000000000001");
  text[39] = static_cast<char>('1' + IndexOf(device));
  return kSuccess;
}
Return nvmlDeviceGetName(Device, char* text, std::uint32_t) {
  std::strcpy(text, "NVIDIA H100 80GB HBM3");
  return kSuccess;
}
Return nvmlDeviceGetUtilizationRates(Device, Utilization* out) {
  *out = {(turn++ * 7) % 101, 10};
  return kSuccess;
}
Return nvmlDeviceGetMemoryInfo_v2(Device, MemoryV2* out) {
  *out = {out->version, std::uint64_t{80} << 30, 0, std::uint64_t{60} << 30, std::uint64_t{20} << 30};
  return kSuccess;
}
Return nvmlDeviceGetPowerUsage(Device, std::uint32_t* out) {
  *out = 300'000 + turn % 1000;
  return kSuccess;
}
Return nvmlDeviceGetTotalEnergyConsumption(Device, std::uint64_t* out) {
  *out = 1'000'000'000 + std::uint64_t{turn} * 30;
  return kSuccess;
}
Return nvmlDeviceGetClockInfo(Device, std::uint32_t, std::uint32_t* out) {
  *out = 1980;
  return kSuccess;
}
Return nvmlDeviceGetTemperature(Device, std::uint32_t, std::uint32_t* out) {
  *out = 50;
  return kSuccess;
}
Return nvmlDeviceGetCurrentClocksEventReasons(Device, std::uint64_t* out) {
  *out = 4;
  return kSuccess;
}
Return nvmlDeviceGetComputeRunningProcesses_v3(Device, std::uint32_t* count, ProcessInfo*) {
  *count = 0;
  return kSuccess;
}

}  // extern "C"

}  // namespace idleburn::nvml
