// The vocabulary of measurements: signals with their units, one reading (Sample), and the interface that
// carries readings (SampleSink).
//
// A sample has a fixed slot for every signal instead of a map, because a day of ten readings a second for eight
// GPUs is seven million rows. To add a signal, append a row to kSignals: a recording stores signals by name, so
// old recordings stay readable.

#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

#include "base/int128.h"
#include "base/time.h"

namespace idleburn {

// Every quantity that a source can report about a GPU. Importers and samplers translate their own counters to
// these, so the rest of the program never sees a vendor's field name. Values are integers in the unit of
// kSignals. Example: 97.5 % utilization is stored as 97,500,000 micro-percent.
enum class Signal : std::uint8_t {
  kUtilization,        // share of the driver's sample period in which a kernel was resident
  kMemoryUtilization,  // share of the period in which device memory was read or written
  kGrEngineActive,     // DCGM 1001: context bound and a pipe busy; works on MIG
  kSmActive,           // DCGM 1002: share of cycles with a warp on an SM, averaged over SMs
  kTensorActive,       // DCGM 1004
  kDramActive,         // DCGM 1005
  kPower,              // board power draw
  kPowerLimit,         // enforced power limit
  kPowerDefaultLimit,  // default power limit of the board
  kEnergy,             // counter that starts when the driver loads
  kSmClock,
  kMaxSmClock,
  kMemoryUsed,
  kMemoryTotal,
  kTemperature,
  kEventReasons,  // clock-event bit mask (NVML GetCurrentClocksEventReasons)
  kProcesses,     // processes that hold a compute context
  kPcieRx,        // host to device
  kPcieTx,        // device to host
  kNvlink,        // both directions
  kEncoderUtilization,
  kDecoderUtilization,
  kXid,  // last Xid code, not a count
};
inline constexpr std::size_t kSignalCount = 23;

// The unit of a signal's integer value. Each is fine enough that no source loses precision.
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

// What a signal describes. A board value is the same for every MIG instance on the board, so it is stored once,
// with the board.
enum class Scope : std::uint8_t { kBoard, kInstance };

// A row of the signal table.
struct SignalInfo {
  Signal id;
  // Nvidia-smi's spelling where it has one.
  std::string_view name;
  Unit unit;
  Scope scope;
};

// Factors between percent and micro-percent.
inline constexpr std::int64_t kPercent = 1'000'000;  // micro-percent
inline constexpr std::int64_t kFull = 100 * kPercent;

// The signal table. The static_assert below keeps it in the order of Signal, so that Info() is an index.
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

// Position of a signal in kSignals, its row there, and its bit in Sample::present.
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

// Why a GPU lowers its clocks. NVML reports a bit mask, and the position of a row in the table is its bit
// number. Example: bit 2 (mask 0x4) is the software power cap.
struct EventReason {
  // As in docs/json.md, event_reasons_gpu_hours.
  std::string_view name;
  // The suffix that nvidia-smi prints after "clocks_event_reasons.".
  std::string_view nvidia_smi;
};
inline constexpr auto kEventReasonTable = std::to_array<EventReason>({
    {"gpu_idle", "gpu_idle"},
    {"applications_clocks_setting", "applications_clocks_setting"},
    {"sw_power_cap", "sw_power_cap"},
    {"hw_slowdown", "hw_slowdown"},
    {"sync_boost", "sync_boost"},
    {"sw_thermal_slowdown", "sw_thermal_slowdown"},
    {"hw_thermal_slowdown", "hw_thermal_slowdown"},
    {"hw_power_brake_slowdown", "hw_power_brake_slowdown"},
    {"display_clock_setting", "display_clocks_setting"},
});
inline constexpr std::size_t kEventReasonCount = kEventReasonTable.size();

// Position of a device in the DeviceTable of its run.
using DeviceId = std::uint32_t;

// Why a stretch of time has no valid value. Reports show the GPU-hours of each reason.
enum class Unobserved : std::uint8_t { kGap, kSentinel, kUnsupported, kInvalidCounter, kClock, kPermission, kStale };
inline constexpr std::size_t kUnobservedCount = 7;
inline constexpr std::array<std::string_view, kUnobservedCount> kUnobservedNames = {
    "gap", "sentinel", "unsupported", "invalid_counter", "clock", "permission", "stale"};

// What one source reports about one device at one time. The array `value` holds only the signals in `present`;
// the other elements are uninitialised, because clearing them costs more than reading a row. A signal that was
// requested and has no valid value is in `unavailable`. It is never stored as 0.
struct Sample {
  Sample() {}  // NOLINT(modernize-use-equals-default): `= default` would have Sample() clear `value` for every row

  Instant time;
  DeviceId device = 0;
  std::uint32_t present = 0;
  std::uint32_t unavailable = 0;
  // Why `unavailable`; if a busy counter is among them, why that one.
  Unobserved reason = Unobserved::kSentinel;
  std::array<std::int64_t, kSignalCount> value;

  [[nodiscard]] bool Has(Signal s) const { return (present & Bit(s)) != 0; }
  [[nodiscard]] bool Lacks(Signal s) const { return (unavailable & Bit(s)) != 0; }
  [[nodiscard]] std::int64_t Get(Signal s) const { return value[Index(s)]; }
  void Set(Signal s, std::int64_t v) {
    present |= Bit(s);
    value[Index(s)] = v;
  }
  // Marks a signal as unavailable. A missing busy counter makes time unobserved, so the reason of a busy
  // counter replaces any other: utilization comes first, then graphics engine activity, then the rest.
  void SetUnavailable(Signal s, Unobserved why) {
    constexpr std::uint32_t kEngine = Bit(Signal::kGrEngineActive);
    const std::uint32_t before_it = s == Signal::kUtilization      ? 0
                                    : s == Signal::kGrEngineActive ? Bit(Signal::kUtilization)
                                                                   : Bit(Signal::kUtilization) | kEngine;
    if ((unavailable & before_it) == 0) reason = why;
    unavailable |= Bit(s);
  }
};

// Samples stored by column, for sources that decode columns. All rows have the same signals and lack none.
// Refers to the caller's buffers and must not outlive them.
struct SampleColumns {
  std::size_t rows = 0;
  // One for each row, like all arrays below.
  const Instant* times = nullptr;
  const DeviceId* devices = nullptr;
  std::uint32_t present = 0;
  std::array<const std::int64_t*, kSignalCount> values{};  // set only for signals in `present`

  // Copies one row to `sample`.
  void Get(std::size_t row, Sample& sample) const;
};

// The one interface between sources and analysis. Importers and samplers push samples; classifiers, sorters and
// recorders receive them. The samples of one device arrive in time order, unless the source's own clock went
// backwards.
class SampleSink {
 public:
  SampleSink() = default;
  SampleSink(const SampleSink&) = delete;
  SampleSink& operator=(const SampleSink&) = delete;
  virtual ~SampleSink() = default;
  virtual void OnSamples(std::span<const Sample> samples) = 0;
  // Receives rows from a source that reads by column. The default converts them to samples and calls OnSamples.
  // Override it only where speed matters.
  virtual void OnColumns(const SampleColumns& columns);
};

// The values that any GPU can report in a unit. The limits lie far above any product, and below the all-ones
// codes that mean "no value". Example: power may be 0 to 100 kW.
struct ValueRange {
  Unit unit;
  std::int64_t low;
  std::int64_t high;
};
const ValueRange& RangeOf(Unit unit);

// Checks a reading against the range of its unit; absent if it is impossible. Rounding by a source may push a
// share slightly out of range, so a share up to half a percent outside 0 to 100 % becomes the limit. Example:
// 100.3 % becomes 100 %, and 101 % is rejected.
std::optional<std::int64_t> InRange(Unit unit, Int128 value);

// Stores a reading of a live counter. An impossible reading becomes unavailable (kInvalidCounter).
void SetInRange(Signal signal, Int128 value, Sample& sample);

}  // namespace idleburn
