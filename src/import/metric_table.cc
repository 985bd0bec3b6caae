#include "import/metric_table.h"

#include <algorithm>
#include <array>

#include "base/int128.h"
#include "import/device_facts.h"
#include "telemetry/sample.h"
#include "text/number.h"

namespace idleburn {

// Facts about exporters as tables: units, metrics, exporters, labels. Code below only looks things up. A new metric is
// a row of kMetrics, a new label a row of kLabels.

namespace {

using S = Signal;
using F = FieldType;
using R = MetricRole;

// text x 10^decimals x numerator / denominator is the value in `unit`, which must be within the range of `unit`.
struct ScaleRule {
  Scale scale;
  std::string_view name;
  int decimals;
  std::int64_t numerator;
  std::int64_t denominator;
  std::optional<Unit> unit;  // none: any number that is not negative
};
constexpr std::array<ScaleRule, 17> kScaleRules = {{
    {Scale::kPercentage, "percent", 6, 1, 1, Unit::kMicroPercent},
    {Scale::kRatio, "ratio", 8, 1, 1, Unit::kMicroPercent},
    {Scale::kWatt, "W", 3, 1, 1, Unit::kMilliwatt},
    {Scale::kMilliwatt, "mW", 0, 1, 1, Unit::kMilliwatt},
    {Scale::kMillijoule, "mJ", 0, 1, 1, Unit::kMillijoule},
    {Scale::kJoule, "J", 3, 1, 1, Unit::kMillijoule},
    {Scale::kMegahertz, "MHz", 3, 1, 1, Unit::kKilohertz},
    {Scale::kHertz, "Hz", -3, 1, 1, Unit::kKilohertz},
    {Scale::kMebibyte, "MiB", 6, 16384, 15625, Unit::kByte},  // 2^20 / 10^6
    {Scale::kByte, "B", 0, 1, 1, Unit::kByte},
    {Scale::kCelsius, "C", 3, 1, 1, Unit::kMillicelsius},
    {Scale::kMask, "mask", 0, 1, 1, Unit::kMask},
    {Scale::kCount, "count", 0, 1, 1, Unit::kCount},
    {Scale::kNumber, "count", 0, 1, 1, std::nullopt},
    {Scale::kBytePerSecond, "B/s", 0, 1, 1, Unit::kBytePerSecond},
    {Scale::kMebibytePerSecond, "MiB/s", 6, 16384, 15625, Unit::kBytePerSecond},
    {Scale::kNvlinkRate, "", 3, 1024, 1, Unit::kBytePerSecond},
}};
// The table is an array by Scale, so that a look-up is an index.
constexpr bool ScalesInOrder() {
  for (std::size_t i = 0; i < kScaleRules.size(); ++i) {
    if (static_cast<std::size_t>(kScaleRules[i].scale) != i) return false;
  }
  return true;
}
static_assert(ScalesInOrder());

// DCGM's codes for "no value" (dcgm_structs.h). A store may have kept them as doubles, which round the 64-bit codes.
constexpr std::int64_t kCodes = 4;  // BLANK, NOT_FOUND, NOT_SUPPORTED, NOT_PERMISSIONED, one after another
constexpr std::int64_t kFirstCode32 = 0x7ffffff0;
constexpr std::int64_t kFirstCode64 = 9'223'372'036'854'775'000;  // as a double prints ...792, rounded down
constexpr std::int64_t kFirstCodeDouble = std::int64_t{1} << 47;

// Whether `text` is one of the four codes from `first` on. Read in thousandths, to tell 140737488355328.0 from a
// number with decimals.
bool IsCode(std::string_view text, std::int64_t first) {
  const ScaledNumber thousandths = ParseScaled(text, 3);
  if (thousandths.fault != NumberFault::kNone || thousandths.value % 1000 != 0) return false;
  const std::int64_t whole = thousandths.value / 1000;
  return whole >= first && whole < first + kCodes;
}

// Whether `text` is a code for "no value" in fields of that type.
bool IsSentinel(std::string_view text, FieldType type) {
  if (type == F::kPlain) return false;
  if (text.size() < 10 && text.find_first_of("eE") == std::string_view::npos) return false;  // every code is longer
  if (type == F::kDouble) return IsCode(text, kFirstCodeDouble);
  const ScaledNumber whole = ParseScaled(text, 0);
  const bool beyond = whole.fault == NumberFault::kTooLarge && text.front() != '-';  // rounded up to 2^63
  return beyond || whole.value >= kFirstCode64 || (type == F::kInt32 && IsCode(text, kFirstCode32));
}

// Shorthands that keep the table below at one row per metric.
constexpr Metric Dcgm(std::uint16_t field, std::string_view name, Signal signal, Scale scale, FieldType type,
                      MetricRole role = R::kSignal) {
  return {name, MetricSource::kDcgm, role, signal, scale, type, field};
}
constexpr Metric Plain(MetricSource source, std::string_view name, Signal signal, Scale scale,
                       MetricRole role = R::kSignal) {
  return {name, source, role, signal, scale, F::kPlain, 0};
}
constexpr Metric Smi(std::string_view name, Signal signal, Scale scale, MetricRole role = R::kSignal) {
  return Plain(MetricSource::kNvidiaSmi, name, signal, scale, role);
}
constexpr Metric Reason(std::string_view name, std::uint16_t bit) {
  return {name, MetricSource::kNvidiaSmi, R::kEventReason, S::kEventReasons, Scale::kCount, F::kPlain, bit};
}
constexpr Metric Link(MetricSource source, std::string_view name, LinkPart part) {
  return {name, source, R::kLink, S::kUtilization, Scale::kCount, F::kPlain, static_cast<std::uint16_t>(part)};
}
constexpr Metric Top(std::string_view name, Signal signal, Scale scale, MetricRole role = R::kSignal) {
  return Plain(MetricSource::kNvitop, name, signal, scale, role);
}
constexpr Metric Job(std::string_view name, Signal signal, Scale scale, MetricRole role = R::kSignal) {
  return Plain(MetricSource::kJobstats, name, signal, scale, role);
}
constexpr Metric All(std::string_view name, Signal signal, Scale scale) {
  return Plain(MetricSource::kAllSmi, name, signal, scale);
}
// Dynolog forwards DCGM fields under its own names, including their codes for "no value".
constexpr Metric Dyno(std::string_view name, Signal signal, Scale scale, FieldType type, MetricRole role = R::kSignal) {
  return {name, MetricSource::kDynolog, role, signal, scale, type, 0};
}

// DCGM's names are those of dcgm_fields.h before and since 4.6.0, and the lower-case names of DCGM 1.x.
constexpr Metric kMetrics[] = {
    Dcgm(100, "DCGM_FI_DEV_SM_CLOCK", S::kSmClock, Scale::kMegahertz, F::kInt32),
    Dcgm(100, "dcgm_sm_clock", S::kSmClock, Scale::kMegahertz, F::kInt32),
    Dcgm(112, "DCGM_FI_DEV_CLOCK_THROTTLE_REASONS", S::kEventReasons, Scale::kMask, F::kInt64),
    Dcgm(112, "DCGM_FI_DEV_CLOCKS_EVENT_REASONS", S::kEventReasons, Scale::kMask, F::kInt64),
    Dcgm(113, "DCGM_FI_DEV_MAX_SM_CLOCK", S::kMaxSmClock, Scale::kMegahertz, F::kInt32),
    Dcgm(150, "DCGM_FI_DEV_GPU_TEMP", S::kTemperature, Scale::kCelsius, F::kInt32),
    Dcgm(150, "DCGM_FI_DEV_GPU_TEMP_CELSIUS", S::kTemperature, Scale::kCelsius, F::kInt32),
    Dcgm(150, "dcgm_gpu_temp", S::kTemperature, Scale::kCelsius, F::kInt32),
    Dcgm(155, "DCGM_FI_DEV_POWER_USAGE", S::kPower, Scale::kWatt, F::kDouble),
    Dcgm(155, "DCGM_FI_DEV_BOARD_POWER_WATTS", S::kPower, Scale::kWatt, F::kDouble),
    Dcgm(155, "dcgm_power_usage", S::kPower, Scale::kWatt, F::kDouble),
    Dcgm(156, "DCGM_FI_DEV_TOTAL_ENERGY_CONSUMPTION", S::kEnergy, Scale::kMillijoule, F::kInt64),
    Dcgm(156, "dcgm_total_energy_consumption", S::kEnergy, Scale::kMillijoule, F::kInt64),
    Dcgm(157, "DCGM_FI_DEV_POWER_USAGE_INSTANT", S::kPower, Scale::kWatt, F::kDouble),
    Dcgm(157, "DCGM_FI_DEV_BOARD_POWER_RAW_WATTS", S::kPower, Scale::kWatt, F::kDouble),
    Dcgm(163, "DCGM_FI_DEV_POWER_MGMT_LIMIT_DEF", S::kPowerDefaultLimit, Scale::kWatt, F::kDouble),
    Dcgm(163, "DCGM_FI_DEV_BOARD_POWER_LIMIT_DEFAULT_WATTS", S::kPowerDefaultLimit, Scale::kWatt, F::kDouble),
    Dcgm(164, "DCGM_FI_DEV_ENFORCED_POWER_LIMIT", S::kPowerLimit, Scale::kWatt, F::kDouble),
    Dcgm(164, "DCGM_FI_DEV_BOARD_POWER_LIMIT_ENFORCED_WATTS", S::kPowerLimit, Scale::kWatt, F::kDouble),
    Dcgm(203, "DCGM_FI_DEV_GPU_UTIL", S::kUtilization, Scale::kPercentage, F::kInt32),
    Dcgm(203, "DCGM_FI_DEV_GPU_UTIL_RATIO", S::kUtilization, Scale::kPercentage, F::kInt32),
    Dcgm(203, "dcgm_gpu_utilization", S::kUtilization, Scale::kPercentage, F::kInt32),
    Dcgm(204, "DCGM_FI_DEV_MEM_COPY_UTIL", S::kMemoryUtilization, Scale::kPercentage, F::kInt32),
    Dcgm(204, "dcgm_mem_copy_utilization", S::kMemoryUtilization, Scale::kPercentage, F::kInt32),
    Dcgm(206, "DCGM_FI_DEV_ENC_UTIL", S::kEncoderUtilization, Scale::kPercentage, F::kInt32),
    Dcgm(206, "dcgm_enc_utilization", S::kEncoderUtilization, Scale::kPercentage, F::kInt32),
    Dcgm(207, "DCGM_FI_DEV_DEC_UTIL", S::kDecoderUtilization, Scale::kPercentage, F::kInt32),
    Dcgm(207, "dcgm_dec_utilization", S::kDecoderUtilization, Scale::kPercentage, F::kInt32),
    Dcgm(230, "DCGM_FI_DEV_XID_ERRORS", S::kXid, Scale::kCount, F::kInt32, R::kXid),
    Dcgm(230, "DCGM_FI_DEV_XID_ERROR", S::kXid, Scale::kCount, F::kInt32, R::kXid),
    Dcgm(230, "dcgm_xid_errors", S::kXid, Scale::kCount, F::kInt32, R::kXid),
    Dcgm(230, "DCGM_EXP_XID_ERRORS_COUNT", S::kXid, Scale::kCount, F::kPlain, R::kXidCount),
    Link(MetricSource::kDcgm, "DCGM_FI_DEV_PCIE_LINK_GEN", LinkPart::kGeneration),
    Link(MetricSource::kDcgm, "DCGM_FI_DEV_PCIE_MAX_LINK_GEN", LinkPart::kMostGeneration),
    Link(MetricSource::kDcgm, "DCGM_FI_DEV_PCIE_LINK_WIDTH", LinkPart::kWidth),
    Link(MetricSource::kDcgm, "DCGM_FI_DEV_PCIE_MAX_LINK_WIDTH", LinkPart::kMostWidth),
    Dcgm(250, "DCGM_FI_DEV_FB_TOTAL", S::kMemoryTotal, Scale::kMebibyte, F::kInt64),
    Dcgm(250, "dcgm_fb_total", S::kMemoryTotal, Scale::kMebibyte, F::kInt64),
    Dcgm(251, "DCGM_FI_DEV_FB_FREE", S::kMemoryTotal, Scale::kMebibyte, F::kInt64, R::kMemoryFree),
    Dcgm(251, "dcgm_fb_free", S::kMemoryTotal, Scale::kMebibyte, F::kInt64, R::kMemoryFree),
    Dcgm(252, "DCGM_FI_DEV_FB_USED", S::kMemoryUsed, Scale::kMebibyte, F::kInt64),
    Dcgm(252, "dcgm_fb_used", S::kMemoryUsed, Scale::kMebibyte, F::kInt64),
    Dcgm(253, "DCGM_FI_DEV_FB_RESERVED", S::kMemoryTotal, Scale::kMebibyte, F::kInt64, R::kMemoryReserved),
    Dcgm(449, "DCGM_FI_DEV_NVLINK_BANDWIDTH_TOTAL", S::kNvlink, Scale::kNvlinkRate, F::kInt64, R::kNvlinkRate),
    Dcgm(449, "DCGM_FI_DEV_NVLINK_THROUGHPUT_TOTAL", S::kNvlink, Scale::kNvlinkRate, F::kInt64, R::kNvlinkRate),
    Dcgm(1001, "DCGM_FI_PROF_GR_ENGINE_ACTIVE", S::kGrEngineActive, Scale::kRatio, F::kDouble),
    Dcgm(1001, "DCGM_FI_PROF_GR_ENGINE_UTIL_RATIO", S::kGrEngineActive, Scale::kRatio, F::kDouble),
    Dcgm(1001, "dcgm_fi_prof_gr_engine_active", S::kGrEngineActive, Scale::kRatio, F::kDouble),
    Dcgm(1002, "DCGM_FI_PROF_SM_ACTIVE", S::kSmActive, Scale::kRatio, F::kDouble),
    Dcgm(1002, "DCGM_FI_PROF_SM_UTIL_RATIO", S::kSmActive, Scale::kRatio, F::kDouble),
    Dcgm(1002, "dcgm_fi_prof_sm_active", S::kSmActive, Scale::kRatio, F::kDouble),
    Dcgm(1004, "DCGM_FI_PROF_PIPE_TENSOR_ACTIVE", S::kTensorActive, Scale::kRatio, F::kDouble),
    Dcgm(1004, "DCGM_FI_PROF_TENSOR_UTIL_RATIO", S::kTensorActive, Scale::kRatio, F::kDouble),
    Dcgm(1004, "dcgm_fi_prof_pipe_tensor_active", S::kTensorActive, Scale::kRatio, F::kDouble),
    Dcgm(1005, "DCGM_FI_PROF_DRAM_ACTIVE", S::kDramActive, Scale::kRatio, F::kDouble),
    Dcgm(1005, "DCGM_FI_PROF_DRAM_UTIL_RATIO", S::kDramActive, Scale::kRatio, F::kDouble),
    Dcgm(1005, "dcgm_fi_prof_dram_active", S::kDramActive, Scale::kRatio, F::kDouble),
    Dcgm(1009, "DCGM_FI_PROF_PCIE_TX_BYTES", S::kPcieTx, Scale::kBytePerSecond, F::kInt64),
    Dcgm(1009, "dcgm_fi_prof_pcie_tx_bytes", S::kPcieTx, Scale::kBytePerSecond, F::kInt64),
    Dcgm(1010, "DCGM_FI_PROF_PCIE_RX_BYTES", S::kPcieRx, Scale::kBytePerSecond, F::kInt64),
    Dcgm(1010, "dcgm_fi_prof_pcie_rx_bytes", S::kPcieRx, Scale::kBytePerSecond, F::kInt64),
    Dcgm(1011, "DCGM_FI_PROF_NVLINK_TX_BYTES", S::kNvlink, Scale::kBytePerSecond, F::kInt64, R::kNvlinkPart),
    Dcgm(1012, "DCGM_FI_PROF_NVLINK_RX_BYTES", S::kNvlink, Scale::kBytePerSecond, F::kInt64, R::kNvlinkPart),
    Dcgm(1084, "DCGM_FI_PROF_SM_CYCLES_ELAPSED_TOTAL", S::kSmActive, Scale::kNumber, F::kInt64, R::kCyclesElapsed),
    Dcgm(1085, "DCGM_FI_PROF_SM_CYCLES_ACTIVE_TOTAL", S::kSmActive, Scale::kNumber, F::kInt64, R::kCyclesActive),

    // nvidia_gpu_exporter: fields of --query-gpu in base units, with shares from 0 to 1.
    Smi("nvidia_smi_utilization_gpu_ratio", S::kUtilization, Scale::kRatio),
    Smi("nvidia_smi_utilization_memory_ratio", S::kMemoryUtilization, Scale::kRatio),
    Smi("nvidia_smi_utilization_encoder_ratio", S::kEncoderUtilization, Scale::kRatio),
    Smi("nvidia_smi_utilization_decoder_ratio", S::kDecoderUtilization, Scale::kRatio),
    Smi("nvidia_smi_memory_used_bytes", S::kMemoryUsed, Scale::kByte),
    Smi("nvidia_smi_memory_total_bytes", S::kMemoryTotal, Scale::kByte),
    Smi("nvidia_smi_power_draw_watts", S::kPower, Scale::kWatt),
    Smi("nvidia_smi_power_draw_average_watts", S::kPower, Scale::kWatt),
    Smi("nvidia_smi_power_draw_instant_watts", S::kPower, Scale::kWatt),
    Smi("nvidia_smi_enforced_power_limit_watts", S::kPowerLimit, Scale::kWatt),
    Smi("nvidia_smi_power_default_limit_watts", S::kPowerDefaultLimit, Scale::kWatt),
    Smi("nvidia_smi_energy_joules_total", S::kEnergy, Scale::kJoule),
    Smi("nvidia_smi_clocks_current_sm_clock_hz", S::kSmClock, Scale::kHertz),
    Smi("nvidia_smi_clocks_max_sm_clock_hz", S::kMaxSmClock, Scale::kHertz),
    Smi("nvidia_smi_temperature_gpu", S::kTemperature, Scale::kCelsius),
    Smi("nvidia_smi_clocks_event_reasons_active", S::kEventReasons, Scale::kMask),
    Smi("nvidia_smi_clocks_throttle_reasons_active", S::kEventReasons, Scale::kMask),
    Reason("nvidia_smi_clocks_event_reasons_gpu_idle", 0),
    Reason("nvidia_smi_clocks_event_reasons_applications_clocks_setting", 1),
    Reason("nvidia_smi_clocks_event_reasons_sw_power_cap", 2),
    Reason("nvidia_smi_clocks_event_reasons_hw_slowdown", 3),
    Reason("nvidia_smi_clocks_event_reasons_sync_boost", 4),
    Reason("nvidia_smi_clocks_event_reasons_sw_thermal_slowdown", 5),
    Reason("nvidia_smi_clocks_event_reasons_hw_thermal_slowdown", 6),
    Reason("nvidia_smi_clocks_event_reasons_hw_power_brake_slowdown", 7),
    Reason("nvidia_smi_clocks_event_reasons_display_clocks_setting", 8),
    Reason("nvidia_smi_clocks_throttle_reasons_gpu_idle", 0),
    Reason("nvidia_smi_clocks_throttle_reasons_applications_clocks_setting", 1),
    Reason("nvidia_smi_clocks_throttle_reasons_sw_power_cap", 2),
    Reason("nvidia_smi_clocks_throttle_reasons_hw_slowdown", 3),
    Reason("nvidia_smi_clocks_throttle_reasons_sync_boost", 4),
    Reason("nvidia_smi_clocks_throttle_reasons_sw_thermal_slowdown", 5),
    Reason("nvidia_smi_clocks_throttle_reasons_hw_thermal_slowdown", 6),
    Reason("nvidia_smi_clocks_throttle_reasons_hw_power_brake_slowdown", 7),
    Reason("nvidia_smi_clocks_throttle_reasons_display_clocks_setting", 8),
    Smi("nvidia_smi_pcie_throughput_tx_bytes_per_second", S::kPcieTx, Scale::kBytePerSecond),
    Smi("nvidia_smi_pcie_throughput_rx_bytes_per_second", S::kPcieRx, Scale::kBytePerSecond),
    Link(MetricSource::kNvidiaSmi, "nvidia_smi_pcie_link_gen_current", LinkPart::kGeneration),
    Link(MetricSource::kNvidiaSmi, "nvidia_smi_pcie_link_gen_max", LinkPart::kMostGeneration),
    Link(MetricSource::kNvidiaSmi, "nvidia_smi_pcie_link_width_current", LinkPart::kWidth),
    Link(MetricSource::kNvidiaSmi, "nvidia_smi_pcie_link_width_max", LinkPart::kMostWidth),
    Smi("nvidia_smi_compute_apps", S::kProcesses, Scale::kCount),
    Smi("nvidia_smi_compute_app_info", S::kProcesses, Scale::kCount, R::kProcess),
    Smi("nvidia_smi_xid_errors_total", S::kXid, Scale::kCount, R::kXidCount),
    Smi("nvidia_smi_gpu_info", S::kUtilization, Scale::kCount, R::kDeviceInfo),
    Smi("nvidia_smi_mig_info", S::kUtilization, Scale::kCount, R::kDeviceInfo),
    Smi("nvidia_smi_mig_memory_used_bytes", S::kMemoryUsed, Scale::kByte),
    Smi("nvidia_smi_mig_memory_total_bytes", S::kMemoryTotal, Scale::kByte),
    Smi("nvidia_smi_mig_graphics_activity_ratio", S::kGrEngineActive, Scale::kRatio),
    Smi("nvidia_smi_mig_sm_activity_ratio", S::kSmActive, Scale::kRatio),
    Smi("nvidia_smi_mig_tensor_activity_ratio", S::kTensorActive, Scale::kRatio),
    Smi("nvidia_smi_last_collect_success", S::kUtilization, Scale::kCount, R::kCollectSuccess),

    // In some versions, the client library of nvitop-exporter appends the unit to the declared name.
    Top("gpu_utilization", S::kUtilization, Scale::kPercentage),
    Top("gpu_utilization_Percentage", S::kUtilization, Scale::kPercentage),
    Top("gpu_memory_utilization", S::kMemoryUtilization, Scale::kPercentage),  // of dynolog too, the same unit
    Top("gpu_memory_utilization_Percentage", S::kMemoryUtilization, Scale::kPercentage),
    Top("gpu_memory_used", S::kMemoryUsed, Scale::kMebibyte),
    Top("gpu_memory_used_MiB", S::kMemoryUsed, Scale::kMebibyte),
    Top("gpu_memory_total", S::kMemoryTotal, Scale::kMebibyte),
    Top("gpu_memory_total_MiB", S::kMemoryTotal, Scale::kMebibyte),
    Top("gpu_power_usage", S::kPower, Scale::kWatt),
    Top("gpu_power_usage_W", S::kPower, Scale::kWatt),
    Top("gpu_power_limit", S::kPowerLimit, Scale::kWatt),
    Top("gpu_power_limit_W", S::kPowerLimit, Scale::kWatt),
    Top("gpu_temperature", S::kTemperature, Scale::kCelsius),
    Top("gpu_temperature_C", S::kTemperature, Scale::kCelsius),
    Top("gpu_clock_sm", S::kSmClock, Scale::kMegahertz),
    Top("gpu_clock_sm_MHz", S::kSmClock, Scale::kMegahertz),
    Top("gpu_pcie_tx_throughput", S::kPcieTx, Scale::kMebibytePerSecond),
    Top("gpu_pcie_tx_throughput_MiBps", S::kPcieTx, Scale::kMebibytePerSecond),
    Top("gpu_pcie_rx_throughput", S::kPcieRx, Scale::kMebibytePerSecond),
    Top("gpu_pcie_rx_throughput_MiBps", S::kPcieRx, Scale::kMebibytePerSecond),
    Top("process_gpu_memory", S::kProcesses, Scale::kCount, R::kProcess),
    Top("process_gpu_memory_MiB", S::kProcesses, Scale::kCount, R::kProcess),

    // jobstats. Its graphics share is a ratio although its name says percent.
    Job("nvidia_gpu_duty_cycle", S::kUtilization, Scale::kPercentage),
    Job("nvidia_gpu_graphics_util_percent", S::kGrEngineActive, Scale::kRatio),
    Job("nvidia_gpu_memory_used_bytes", S::kMemoryUsed, Scale::kByte),
    Job("nvidia_gpu_memory_total_bytes", S::kMemoryTotal, Scale::kByte),
    Job("nvidia_gpu_power_usage_milliwatts", S::kPower, Scale::kMilliwatt),
    Job("nvidia_gpu_temperature_celsius", S::kTemperature, Scale::kCelsius),
    Job("nvidia_gpu_jobId", S::kUtilization, Scale::kNumber, R::kJobId),

    // all-smi. MIG instances are told by their graphics engine, as the driver has no utilization of them.
    All("all_smi_gpu_utilization", S::kUtilization, Scale::kPercentage),
    All("all_smi_gpu_memory_used_bytes", S::kMemoryUsed, Scale::kByte),
    All("all_smi_gpu_memory_total_bytes", S::kMemoryTotal, Scale::kByte),
    All("all_smi_gpu_power_consumption_watts", S::kPower, Scale::kWatt),
    All("all_smi_gpu_temperature_celsius", S::kTemperature, Scale::kCelsius),
    All("all_smi_gpu_frequency_mhz", S::kSmClock, Scale::kMegahertz),
    All("all_smi_gpu_memory_bandwidth_utilization", S::kDramActive, Scale::kRatio),
    All("all_smi_gpu_energy_hw_millijoules_total", S::kEnergy, Scale::kMillijoule),
    All("all_smi_energy_consumed_joules_total", S::kEnergy, Scale::kJoule),
    All("all_smi_gpu_energy_consumed_joules_total", S::kEnergy, Scale::kJoule),
    All("all_smi_mig_instance_utilization_gpu", S::kGrEngineActive, Scale::kPercentage),
    All("all_smi_mig_instance_utilization_memory", S::kMemoryUtilization, Scale::kPercentage),
    All("all_smi_mig_instance_memory_used_bytes", S::kMemoryUsed, Scale::kByte),
    All("all_smi_mig_instance_memory_total_bytes", S::kMemoryTotal, Scale::kByte),

    // dynolog. Names that nvitop has too are listed there.
    Dyno("gpu_device_utilization", S::kUtilization, Scale::kPercentage, F::kInt32),
    Dyno("graphics_engine_active_ratio", S::kGrEngineActive, Scale::kRatio, F::kDouble),
    Dyno("sm_active_ratio", S::kSmActive, Scale::kRatio, F::kDouble),
    Dyno("tensorcore_active", S::kTensorActive, Scale::kRatio, F::kDouble),
    Dyno("hbm_mem_bw_util", S::kDramActive, Scale::kRatio, F::kDouble),
    Dyno("pcie_tx_bytes", S::kPcieTx, Scale::kBytePerSecond, F::kInt64),
    Dyno("pcie_rx_bytes", S::kPcieRx, Scale::kBytePerSecond, F::kInt64),
    Dyno("nvlink_tx_bytes", S::kNvlink, Scale::kBytePerSecond, F::kInt64, R::kNvlinkPart),
    Dyno("nvlink_rx_bytes", S::kNvlink, Scale::kBytePerSecond, F::kInt64, R::kNvlinkPart),
    Dyno("gpu_power_draw", S::kPower, Scale::kWatt, F::kDouble),
    Dyno("gpu_frequency_mhz", S::kSmClock, Scale::kMegahertz, F::kInt32),
};

// What is particular about an exporter.
struct SourceInfo {
  MetricSource source;
  std::string_view name;
  std::string_view prefix;  // of its metric names, dropped in a counter's name
  bool names_pods;          // the exporter itself says which pod holds a GPU
  bool names_gpus;          // a series that names no GPU is of the machine
};
constexpr std::array<SourceInfo, 6> kSources = {{
    {MetricSource::kDcgm, "dcgm", "", true, false},
    {MetricSource::kNvidiaSmi, "nvidia_smi_exporter", "nvidia_smi_", false, false},
    {MetricSource::kNvitop, "nvitop", "", false, false},
    {MetricSource::kJobstats, "jobstats", "nvidia_gpu_", false, false},
    {MetricSource::kAllSmi, "all_smi", "all_smi_", false, true},
    {MetricSource::kDynolog, "dynolog", "", false, false},
}};
constexpr const SourceInfo& Info(MetricSource source) { return kSources[static_cast<std::size_t>(source)]; }

// What a label means.
enum class LabelRole : std::uint8_t {
  kUuid,
  kBusId,
  kIndex,
  kName,
  kHost,
  kMigId,
  kMigProfile,
  kPod,
  kNamespace,
  kPlainPod,
  kPlainNamespace,
  kJob,
  kXid
};
constexpr std::size_t kLabelRoles = 13;
struct LabelRow {
  std::string_view name;
  LabelRole role;
};
// If several labels have one role, the upper row counts. Plain pod labels may be the exporter's own: Prometheus
// Operator writes the target's pod on every series, and moves what the exporter said to the exported_ labels.
constexpr LabelRow kLabels[] = {
    {"UUID", LabelRole::kUuid},
    {"uuid", LabelRole::kUuid},
    {"gpu_uuid", LabelRole::kUuid},
    {"pci_bus_id", LabelRole::kBusId},
    {"gpu", LabelRole::kIndex},
    {"index", LabelRole::kIndex},
    {"gpu_index", LabelRole::kIndex},
    {"gpu_number", LabelRole::kIndex},
    {"ordinal", LabelRole::kIndex},
    {"device", LabelRole::kIndex},
    {"minor_number", LabelRole::kIndex},
    {"modelName", LabelRole::kName},
    {"model_name", LabelRole::kName},
    {"devicename", LabelRole::kName},
    {"gpu_name", LabelRole::kName},
    {"name", LabelRole::kName},
    {"model", LabelRole::kName},
    {"gpu", LabelRole::kName},  // all-smi: the product's name
    {"hostname", LabelRole::kHost},
    {"Hostname", LabelRole::kHost},
    {"host", LabelRole::kHost},
    {"instance_id", LabelRole::kHost},  // Google Cloud
    {"InstanceId", LabelRole::kHost},   // CloudWatch
    {"instance", LabelRole::kHost},
    {"GPU_I_ID", LabelRole::kMigId},
    {"gpu_instance_id", LabelRole::kMigId},
    {"mig_instance", LabelRole::kMigId},
    {"GPU_I_PROFILE", LabelRole::kMigProfile},
    {"dra_mig_profile", LabelRole::kMigProfile},
    {"mig_profile", LabelRole::kMigProfile},
    {"profile", LabelRole::kMigProfile},
    {"exported_pod", LabelRole::kPod},
    {"exported_namespace", LabelRole::kNamespace},
    {"pod", LabelRole::kPlainPod},
    {"pod_name", LabelRole::kPlainPod},
    {"namespace", LabelRole::kPlainNamespace},
    {"pod_namespace", LabelRole::kPlainNamespace},
    {"namespace_name", LabelRole::kPlainNamespace},  // Google Cloud
    {"hpc_job", LabelRole::kJob},
    {"jobid", LabelRole::kJob},
    {"job_id", LabelRole::kJob},
    {"xid", LabelRole::kXid},
};

// The index in a label: 0 for "0" and "nvidia0". Absent for other text.
std::optional<int> ReadIndex(std::string_view text) {
  constexpr std::string_view kDevice = "nvidia";
  if (text.substr(0, kDevice.size()) == kDevice) text.remove_prefix(kDevice.size());
  const std::optional<std::int64_t> n = ParseInteger(text);
  if (!n || *n < 0 || *n > 4096) return std::nullopt;
  return static_cast<int>(*n);
}

// Whether a value can have that role. all-smi's `gpu` is a product name, others' is an index.
bool Fits(LabelRole role, std::string_view value, std::string_view label) {
  if (value.empty()) return false;
  if (role == LabelRole::kIndex) return ReadIndex(value).has_value();
  if (role == LabelRole::kName && label == "gpu") return !ReadIndex(value).has_value();
  return true;
}

// A host without its port. A scrape target is host:port, and other exporters of the host use other ports, so the port
// must not make two hosts of one. An IPv6 address has a port only if it is in brackets.
std::string_view WithoutPort(std::string_view host) {
  const std::size_t colon = host.rfind(':');
  if (colon == std::string_view::npos || !ParseInteger(host.substr(colon + 1))) return host;
  return host.find(':') == colon || host[colon - 1] == ']' ? host.substr(0, colon) : host;
}

// The GPU instance's part of a compute instance's profile: "3g.71gb" for "1c.3g.71gb".
std::string_view InstanceProfile(std::string_view profile) {
  const std::size_t compute = profile.find("c.");
  return compute == std::string_view::npos ? profile : profile.substr(compute + 2);
}

}  // namespace

std::vector<std::string> LabelsAbout(LabelTopic topic) {
  std::vector<std::string> names;
  for (const LabelRow& row : kLabels) {
    const bool place = row.role == LabelRole::kHost || row.role == LabelRole::kIndex || row.role == LabelRole::kBusId;
    const bool wanted = (topic == LabelTopic::kUuid && row.role == LabelRole::kUuid) ||
                        (topic == LabelTopic::kPlace && place) ||
                        (topic == LabelTopic::kModel && row.role == LabelRole::kName) ||
                        (topic == LabelTopic::kInstance && row.role == LabelRole::kMigId) ||
                        (topic == LabelTopic::kJob && row.role == LabelRole::kJob);
    if (wanted) names.emplace_back(row.name);
  }
  return names;
}

// Codes for "no value" are tested before the range, because a code says more than "out of range".
Reading ReadScaled(std::string_view text, Scale scale, FieldType type) {
  const ScaleRule& rule = kScaleRules[static_cast<std::size_t>(scale)];
  const ScaledNumber number = ParseScaled(text, rule.decimals);
  if (number.fault == NumberFault::kNotFinite) return {0, QualityId::kNotFinite};
  if (number.fault == NumberFault::kNotANumber) return {0, QualityId::kUnavailableValue};
  if (IsSentinel(text, type)) return {0, QualityId::kSentinelValue};
  if (number.fault == NumberFault::kTooLarge) return {0, QualityId::kOutOfRange};
  const Int128 exact = DivHalfEven(static_cast<Int128>(number.value) * rule.numerator, rule.denominator);
  const bool whole = !rule.unit && FitsInt64(exact) && exact >= 0;
  const std::optional<std::int64_t> valid = rule.unit ? InRange(*rule.unit, exact)
                                            : whole   ? std::optional(static_cast<std::int64_t>(exact))
                                                      : std::nullopt;
  return valid ? Reading{*valid, std::nullopt} : Reading{0, QualityId::kOutOfRange};
}

std::string_view Name(Scale scale) { return kScaleRules[static_cast<std::size_t>(scale)].name; }

std::span<const Metric> KnownMetrics() { return kMetrics; }

const Metric* FindMetric(std::string_view name) {
  const auto bare = [](std::string_view text) {
    constexpr std::string_view kTotal = "_total";
    const bool total = text.size() > kTotal.size() && text.substr(text.size() - kTotal.size()) == kTotal;
    return total ? text.substr(0, text.size() - kTotal.size()) : text;
  };
  const std::string_view wanted = bare(name);
  for (const Metric& m : kMetrics) {
    if (bare(m.name) == wanted) return &m;
  }
  return nullptr;
}

std::string CounterName(const Metric& metric) {
  const SourceInfo& source = Info(metric.source);
  return std::string(source.name) + "." + std::string(metric.name.substr(source.prefix.size()));
}

const Metric* FindCounter(std::string_view counter) {
  const auto* const found = std::find_if(std::begin(kMetrics), std::end(kMetrics),
                                         [counter](const Metric& m) { return CounterName(m) == counter; });
  return found == std::end(kMetrics) ? nullptr : found;
}

bool NamesPods(const Metric& metric) { return Info(metric.source).names_pods; }

bool NamesGpus(const Metric& metric) { return Info(metric.source).names_gpus; }

// Takes the first label of each role, in the order of kLabels, then settles the owner: a job wins over a pod, and the
// exporter's own pod is nobody's.
SeriesIdentity Identify(const Labels& labels, bool names_pods) {
  std::array<std::string_view, kLabelRoles> found;
  for (const LabelRow& row : kLabels) {
    std::string_view& value = found[static_cast<std::size_t>(row.role)];
    for (const auto& [name, content] : labels) {
      if (value.empty() && name == row.name && Fits(row.role, content, name)) value = content;
    }
  }
  const auto get = [&found](LabelRole role) { return found[static_cast<std::size_t>(role)]; };
  SeriesIdentity id;
  id.device.uuid = get(LabelRole::kUuid);
  id.device.bus_id = get(LabelRole::kBusId);
  id.device.index = ReadIndex(get(LabelRole::kIndex));
  id.device.name = get(LabelRole::kName);
  id.device.host = WithoutPort(get(LabelRole::kHost));
  for (const std::string_view label : {"hostname", "Hostname", "host"}) {
    for (const auto& [name, content] : labels) {
      if (id.machine.empty() && name == label) id.machine = content;
    }
  }
  if (!get(LabelRole::kMigId).empty()) {
    const std::string_view profile = InstanceProfile(get(LabelRole::kMigProfile));
    id.device.mig = MigInstance{std::string(get(LabelRole::kMigId)), std::string(profile), ProfileSlices(profile)};
  }
  // An exported_ label is what the exporter itself said; a plain one only counts if the exporter names pods.
  const bool exported = !get(LabelRole::kPod).empty();
  std::string_view pod = get(LabelRole::kPod);
  if (!exported && names_pods) pod = get(LabelRole::kPlainPod);
  // A batch job names its owner better than the pod that it runs in.
  if (!get(LabelRole::kJob).empty()) {
    id.owner = "job " + std::string(get(LabelRole::kJob));
  } else if (!pod.empty() && pod.find("dcgm-exporter") == std::string_view::npos) {
    std::string_view space = get(LabelRole::kNamespace);
    if (space.empty() && !exported) space = get(LabelRole::kPlainNamespace);
    id.owner = "pod " + (space.empty() ? "" : std::string(space) + "/") + std::string(pod);
  }
  id.xid = get(LabelRole::kXid);
  return id;
}

}  // namespace idleburn
