#include "import/column_roles.h"

#include <algorithm>
#include <array>

#include "text/number.h"

namespace idleburn {
namespace {

using K = ColumnKind;
constexpr Signal kNoSignal = Signal::kUtilization;

// Assumed units are nvidia-smi's, and DCGM's for its profiling counters, which are ratios.
constexpr std::array<ColumnRole, 31> kRoles = {{
    {"time", K::kTime, kNoSignal, ""},
    {"gpu", K::kGpu, kNoSignal, ""},
    {"uuid", K::kUuid, kNoSignal, ""},
    {"name", K::kName, kNoSignal, ""},
    {"host", K::kHost, kNoSignal, ""},
    {"mig", K::kMig, kNoSignal, ""},
    {"mig_profile", K::kMigProfile, kNoSignal, ""},
    {"owner", K::kOwner, kNoSignal, ""},
    {"util", K::kSignal, Signal::kUtilization, "percent"},
    {"memory_util", K::kSignal, Signal::kMemoryUtilization, "percent"},
    {"gr_engine_active", K::kSignal, Signal::kGrEngineActive, "ratio"},
    {"sm_active", K::kSignal, Signal::kSmActive, "ratio"},
    {"tensor_active", K::kSignal, Signal::kTensorActive, "ratio"},
    {"dram_active", K::kSignal, Signal::kDramActive, "ratio"},
    {"power", K::kSignal, Signal::kPower, "w"},
    {"power_limit", K::kSignal, Signal::kPowerLimit, "w"},
    {"energy", K::kSignal, Signal::kEnergy, "mj"},
    {"sm_clock", K::kSignal, Signal::kSmClock, "mhz"},
    {"max_sm_clock", K::kSignal, Signal::kMaxSmClock, "mhz"},
    {"memory", K::kSignal, Signal::kMemoryUsed, "mib"},
    {"memory_total", K::kSignal, Signal::kMemoryTotal, "mib"},
    {"temperature", K::kSignal, Signal::kTemperature, "c"},
    {"reasons", K::kSignal, Signal::kEventReasons, ""},
    {"processes", K::kSignal, Signal::kProcesses, ""},
    {"power_default_limit", K::kSignal, Signal::kPowerDefaultLimit, "w"},
    {"pcie_rx", K::kSignal, Signal::kPcieRx, "b/s"},
    {"pcie_tx", K::kSignal, Signal::kPcieTx, "b/s"},
    {"nvlink", K::kSignal, Signal::kNvlink, "b/s"},
    {"encoder_util", K::kSignal, Signal::kEncoderUtilization, "percent"},
    {"decoder_util", K::kSignal, Signal::kDecoderUtilization, "percent"},
    {"xid", K::kSignal, Signal::kXid, ""},
}};

constexpr std::array<ColumnUnit, 39> kUnits = {{
    {"percent", Unit::kMicroPercent, 6, 1, 1},
    {"pct", Unit::kMicroPercent, 6, 1, 1},
    {"%", Unit::kMicroPercent, 6, 1, 1},
    {"ratio", Unit::kMicroPercent, 8, 1, 1},
    {"fraction", Unit::kMicroPercent, 8, 1, 1},
    {"w", Unit::kMilliwatt, 3, 1, 1},
    {"watts", Unit::kMilliwatt, 3, 1, 1},
    {"mw", Unit::kMilliwatt, 0, 1, 1},
    {"milliwatts", Unit::kMilliwatt, 0, 1, 1},
    {"kw", Unit::kMilliwatt, 6, 1, 1},
    {"j", Unit::kMillijoule, 3, 1, 1},
    {"joules", Unit::kMillijoule, 3, 1, 1},
    {"mj", Unit::kMillijoule, 0, 1, 1},
    {"kj", Unit::kMillijoule, 6, 1, 1},
    {"wh", Unit::kMillijoule, 6, 18, 5},  // 3,600 J
    {"kwh", Unit::kMillijoule, 9, 18, 5},
    {"mhz", Unit::kKilohertz, 3, 1, 1},
    {"khz", Unit::kKilohertz, 0, 1, 1},
    {"hz", Unit::kKilohertz, 0, 1, 1000},
    {"hertz", Unit::kKilohertz, 0, 1, 1000},
    {"ghz", Unit::kKilohertz, 6, 1, 1},
    {"b", Unit::kByte, 0, 1, 1},
    {"bytes", Unit::kByte, 0, 1, 1},
    {"kib", Unit::kByte, 3, 128, 125},  // 1,024 / 10^3
    {"mib", Unit::kByte, 6, 16384, 15625},
    {"gib", Unit::kByte, 9, 2097152, 1953125},
    {"kb", Unit::kByte, 3, 1, 1},
    {"mb", Unit::kByte, 6, 1, 1},
    {"gb", Unit::kByte, 9, 1, 1},
    {"c", Unit::kMillicelsius, 3, 1, 1},
    {"celsius", Unit::kMillicelsius, 3, 1, 1},
    {"\u00B0C", Unit::kMillicelsius, 3, 1, 1},
    {"", Unit::kMask, 0, 1, 1},
    {"mask", Unit::kMask, 0, 1, 1},
    {"", Unit::kCount, 0, 1, 1},
    {"count", Unit::kCount, 0, 1, 1},
    {"b/s", Unit::kBytePerSecond, 0, 1, 1},
    {"kb/s", Unit::kBytePerSecond, 3, 1, 1},
    {"mb/s", Unit::kBytePerSecond, 6, 1, 1},
}};

constexpr std::array<TimeUnit, 9> kTimeUnits = {{
    {"s", TimeForm::kSeconds},
    {"ms", TimeForm::kMillis},
    {"us", TimeForm::kMicros},
    {"ns", TimeForm::kNanos},
    {"rfc3339", TimeForm::kText},
    {"seconds", TimeForm::kSeconds},
    {"milliseconds", TimeForm::kMillis},
    {"microseconds", TimeForm::kMicros},
    {"nanoseconds", TimeForm::kNanos},
}};

constexpr std::array<ColumnAlias, 80> kAliases = {{
    {"timestamp", "time"},
    {"time", "time"},
    {"ts", "time"},
    {"datetime", "time"},
    {"epoch", "time"},
    {"gpu", "gpu"},
    {"index", "gpu"},
    {"gpu_index", "gpu"},
    {"gpu_id", "gpu"},
    {"device", "gpu"},
    {"pci_bus_id", "gpu"},
    {"gpu_bus_id", "gpu"},
    {"uuid", "uuid"},
    {"gpu_uuid", "uuid"},
    {"name", "name"},
    {"gpu_name", "name"},
    {"modelname", "name"},
    {"hostname", "host"},
    {"host", "host"},
    {"mig_id", "mig"},
    {"gpu_i_id", "mig"},
    {"gpu_instance_id", "mig"},
    {"mig_profile", "mig_profile"},
    {"gpu_i_profile", "mig_profile"},
    {"utilization_gpu", "util"},
    {"gpu_utilization", "util"},
    {"utilization", "util"},
    {"gpu_util", "util"},
    {"util", "util"},
    {"dcgm_fi_dev_gpu_util", "util"},
    {"dcgm_fi_dev_gpu_util_ratio", "util"},
    {"utilization_memory", "memory_util"},
    {"dcgm_fi_dev_mem_copy_util", "memory_util"},
    {"gr_engine_active", "gr_engine_active"},
    {"dcgm_fi_prof_gr_engine_active", "gr_engine_active"},
    {"dcgm_fi_prof_gr_engine_util_ratio", "gr_engine_active"},
    {"sm_active", "sm_active"},
    {"dcgm_fi_prof_sm_active", "sm_active"},
    {"dcgm_fi_prof_sm_util_ratio", "sm_active"},
    {"dcgm_fi_prof_pipe_tensor_active", "tensor_active"},
    {"dcgm_fi_prof_tensor_util_ratio", "tensor_active"},
    {"dcgm_fi_prof_dram_active", "dram_active"},
    {"dcgm_fi_prof_dram_util_ratio", "dram_active"},
    {"power_draw", "power"},
    {"power_draw_average", "power"},
    {"power_draw_instant", "power"},
    {"power", "power"},
    {"power_w", "power"},
    {"power_watts", "power"},
    {"dcgm_fi_dev_power_usage", "power"},
    {"dcgm_fi_dev_board_power_watts", "power"},
    {"enforced_power_limit", "power_limit"},
    {"power_limit", "power_limit"},
    {"dcgm_fi_dev_total_energy_consumption", "energy"},
    {"clocks_current_sm", "sm_clock"},
    {"clocks_sm", "sm_clock"},
    {"sm_clock", "sm_clock"},
    {"dcgm_fi_dev_sm_clock", "sm_clock"},
    {"clocks_max_sm", "max_sm_clock"},
    {"memory_used", "memory"},
    {"mem_used", "memory"},
    {"dcgm_fi_dev_fb_used", "memory"},
    {"memory_total", "memory_total"},
    {"temperature_gpu", "temperature"},
    {"temperature", "temperature"},
    {"dcgm_fi_dev_gpu_temp", "temperature"},
    {"dcgm_fi_dev_gpu_temp_celsius", "temperature"},
    {"clocks_event_reasons_active", "reasons"},
    {"clocks_throttle_reasons_active", "reasons"},
    {"tensor_active", "tensor_active"},
    {"dram_active", "dram_active"},
    {"total_energy_consumption", "energy"},
    {"compute_processes", "processes"},
    {"power_default_limit", "power_default_limit"},
    {"pcie_rx", "pcie_rx"},
    {"pcie_tx", "pcie_tx"},
    {"nvlink_bandwidth", "nvlink"},
    {"utilization_encoder", "encoder_util"},
    {"utilization_decoder", "decoder_util"},
    {"xid", "xid"},
}};

}  // namespace

std::span<const ColumnRole> ColumnRoles() { return kRoles; }

const ColumnRole* FindColumnRole(std::string_view name) {
  const auto* found = std::find_if(kRoles.begin(), kRoles.end(), [&](const ColumnRole& r) { return r.name == name; });
  return found == kRoles.end() ? nullptr : found;
}

const ColumnUnit* FindColumnUnit(std::string_view name, Unit unit) {
  const auto* found = std::find_if(kUnits.begin(), kUnits.end(), [&](const ColumnUnit& u) {
    return u.unit == unit && EqualsIgnoreCase(u.name, name);
  });
  return found == kUnits.end() ? nullptr : found;
}

std::span<const ColumnUnit> ColumnUnits() { return kUnits; }
std::span<const TimeUnit> TimeUnits() { return kTimeUnits; }
std::span<const ColumnAlias> ColumnAliases() { return kAliases; }

}  // namespace idleburn
