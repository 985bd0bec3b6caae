#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

namespace idleburn {

// Every quantity a source may report about a GPU. Values are integers in the unit of kSignals.
enum class Signal : std::uint8_t {
  kUtilization,         // share of the driver's sample period in which a kernel was resident
  kMemoryUtilization,   // share of the period in which device memory was read or written
  kGrEngineActive,      // DCGM 1001: context bound and a pipe busy; works on MIG
  kSmActive,            // DCGM 1002: share of cycles with a warp on an SM, averaged over SMs
  kTensorActive,        // DCGM 1004
  kDramActive,          // DCGM 1005
  kPower,               // draw of the board
  kPowerLimit,          // enforced limit
  kPowerDefaultLimit,   // the board's own default
  kEnergy,              // counter since the driver was loaded
  kSmClock,
  kMaxSmClock,
  kMemoryUsed,
  kMemoryTotal,
  kTemperature,
  kEventReasons,        // clock-event bit mask (NVML GetCurrentClocksEventReasons)
  kProcesses,           // processes that hold a compute context
  kPcieRx,              // host to device
  kPcieTx,              // device to host
  kNvlink,              // both directions
  kEncoderUtilization,
  kDecoderUtilization,
  kXid,                 // last Xid code, not a count
};
inline constexpr std::size_t kSignalCount = 23;

enum class Unit : std::uint8_t {
  kMicroPercent,  // 100 % = 100,000,000
  kMilliwatt,
  kMillijoule,
  kKilohertz,
  kByte,
  kMillicelsius,
  kMask,
  kCount,
  kBytePerSecond,
};

// A board value is the same for every MIG instance on the board and is taken once per board.
enum class Scope : std::uint8_t { kBoard, kInstance };

struct SignalInfo {
  Signal id;
  std::string_view name;  // nvidia-smi's spelling where it has one
  Unit unit;
  Scope scope;
};

inline constexpr std::int64_t kPercent = 1'000'000;  // micro-percent
inline constexpr std::int64_t kFull = 100 * kPercent;

inline constexpr std::array<SignalInfo, kSignalCount> kSignals = {{
    {Signal::kUtilization, "utilization.gpu", Unit::kMicroPercent, Scope::kInstance},
    {Signal::kMemoryUtilization, "utilization.memory", Unit::kMicroPercent, Scope::kInstance},
    {Signal::kGrEngineActive, "gr_engine_active", Unit::kMicroPercent, Scope::kInstance},
    {Signal::kSmActive, "sm_active", Unit::kMicroPercent, Scope::kInstance},
    {Signal::kTensorActive, "tensor_active", Unit::kMicroPercent, Scope::kInstance},
    {Signal::kDramActive, "dram_active", Unit::kMicroPercent, Scope::kInstance},
    {Signal::kPower, "power.draw", Unit::kMilliwatt, Scope::kBoard},
    {Signal::kPowerLimit, "enforced.power.limit", Unit::kMilliwatt, Scope::kBoard},
    {Signal::kPowerDefaultLimit, "power.default_limit", Unit::kMilliwatt, Scope::kBoard},
    {Signal::kEnergy, "total_energy_consumption", Unit::kMillijoule, Scope::kBoard},
    {Signal::kSmClock, "clocks.current.sm", Unit::kKilohertz, Scope::kBoard},
    {Signal::kMaxSmClock, "clocks.max.sm", Unit::kKilohertz, Scope::kBoard},
    {Signal::kMemoryUsed, "memory.used", Unit::kByte, Scope::kInstance},
    {Signal::kMemoryTotal, "memory.total", Unit::kByte, Scope::kInstance},
    {Signal::kTemperature, "temperature.gpu", Unit::kMillicelsius, Scope::kBoard},
    {Signal::kEventReasons, "clocks_event_reasons.active", Unit::kMask, Scope::kBoard},
    {Signal::kProcesses, "compute_processes", Unit::kCount, Scope::kInstance},
    {Signal::kPcieRx, "pcie.rx", Unit::kBytePerSecond, Scope::kBoard},
    {Signal::kPcieTx, "pcie.tx", Unit::kBytePerSecond, Scope::kBoard},
    {Signal::kNvlink, "nvlink.bandwidth", Unit::kBytePerSecond, Scope::kBoard},
    {Signal::kEncoderUtilization, "utilization.encoder", Unit::kMicroPercent, Scope::kBoard},
    {Signal::kDecoderUtilization, "utilization.decoder", Unit::kMicroPercent, Scope::kBoard},
    {Signal::kXid, "xid", Unit::kCount, Scope::kBoard},
}};

constexpr std::size_t Index(Signal s) { return static_cast<std::size_t>(s); }
constexpr const SignalInfo& Info(Signal s) { return kSignals[Index(s)]; }
constexpr std::uint32_t Bit(Signal s) { return std::uint32_t{1} << Index(s); }

constexpr bool SignalTableInOrder() {
  for (std::size_t i = 0; i < kSignalCount; ++i) {
    if (Index(kSignals[i].id) != i) return false;
  }
  return true;
}
static_assert(SignalTableInOrder());

}  // namespace idleburn
