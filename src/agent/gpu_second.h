// What one GPU did in one UTC second. Seconds are the atoms of the agent: a second is counted once, in whole
// milliseconds, and everything that is exposed or billed is a sum of them.

#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string_view>

#include "classify/totals.h"
#include "telemetry/sample.h"

namespace idleburn {

// The four phases of classify/totals.h and "unobserved". In every GPU's second they sum to 1000 ms.
inline constexpr std::size_t kAgentPhaseCount = kPhaseCount + 1;
inline constexpr std::size_t kUnobservedPhase = kPhaseCount;
inline constexpr std::array<std::string_view, kAgentPhaseCount> kAgentPhaseNames = {
    "idle", "underutilized", "productive", "compute_bound", "unobserved"};

// Why a second has no data: the reasons of samples, then those that only an agent knows. "reset" stays 0 here: it is
// the deficit that a reader of the counters finds after lost state (docs/agent.md). New reasons come last, because the
// state file stores them in this order.
inline constexpr std::size_t kAgentReasonCount = kUnobservedCount + 4;
inline constexpr std::size_t kAgentDown = kUnobservedCount;
inline constexpr std::size_t kDriverGone = kUnobservedCount + 1;
inline constexpr std::size_t kSlept = kUnobservedCount + 3;  // the machine slept
inline constexpr std::array<std::string_view, kAgentReasonCount> kAgentReasonNames = {
    "gap",   "sentinel",   "unsupported", "invalid_counter", "clock",  "permission",
    "stale", "agent_down", "driver_gone", "reset",           "suspend"};

// Whether a process held the memory of an idle GPU.
enum class IdleMemory : std::uint8_t { kHeld, kEmpty, kUnknown };
inline constexpr std::size_t kIdleMemoryCount = 3;
inline constexpr std::array<std::string_view, kIdleMemoryCount> kIdleMemoryNames = {"held", "empty", "unknown"};

inline constexpr std::int64_t kMsPerSecond = 1000;
inline constexpr std::size_t kDecileCount = 10;
// PCIe and NVLink as labels: "rx" is host to device. The driver reports NVLink for both directions together.
enum class LinkFlow : std::uint8_t { kPcieRx, kPcieTx, kNvlink };
inline constexpr std::size_t kLinkFlowCount = 3;

// One second of one GPU or MIG instance, as if it were whole: a share of a board is applied where it is counted.
struct GpuSecond {
  std::array<std::int64_t, kAgentPhaseCount> phase_ms{};    // sums to 1000
  std::array<std::int64_t, kAgentReasonCount> reason_ms{};  // sums to the unobserved ms
  std::array<std::int64_t, kIdleMemoryCount> idle_ms{};     // sums to the idle ms
  std::int64_t busy_us = 0;                                 // mean utilization x observed time, in microseconds
  std::int64_t spin_ms = 0;            // spin-wait that became certain; may belong to the last few seconds
  std::optional<std::size_t> decile;   // of mean utilization, 0 to 9; 100 % counts as 9
  std::int64_t energy_counter_mj = 0;  // rise of the driver's counter
  std::int64_t energy_power_mj = 0;    // mean power x time
  std::array<std::int64_t, kEventReasonCount> throttled_ms{};
  std::array<std::int64_t, kLinkFlowCount> link_bytes{};
  // Slowed down with a loss of SM clock and not in spin-wait, and the part of that time that the clock lost. Of a
  // second a few seconds ago, as spin-wait.
  std::int64_t slowed_ms = 0;
  std::int64_t clock_lost_ms = 0;
  bool link_full = false;  // PCIe to the GPU, kLinkFull or more

  // A second without any data.
  static GpuSecond Without(std::size_t reason) {
    GpuSecond second;
    second.phase_ms[kUnobservedPhase] = kMsPerSecond;
    second.reason_ms[reason] = kMsPerSecond;
    return second;
  }
};

}  // namespace idleburn
