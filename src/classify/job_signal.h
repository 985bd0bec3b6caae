// What an agent counts of a job besides its phases, so that a fleet can tell why the job wastes GPU time. The names are
// values of the label `signal` of idleburn_job_signal_seconds_total (docs/agent.md), so they are a contract.

#pragma once

#include <array>
#include <cstdint>
#include <string_view>

#include "classify/totals.h"

namespace idleburn {

// Unobserved time follows the phases of classify/totals.h.
inline constexpr unsigned kAllJobTime = (1U << (kPhaseCount + 1)) - 1;

enum class JobSignal : std::uint8_t {
  kIdleHeld,         // in idle stretches of kIdleStretchSeconds or more: a process held GPU memory
  kIdleEmpty,        // in such stretches: no process
  kIdleUnknown,      // in such stretches: nothing tells whether a process held the GPU
  kSpinWait,         // the GPU looked busy and waited
  kThrottled,        // slowed down with a loss of SM clock, without spin-wait
  kClockLost,        // the part of that time that the clock lost
  kPcieFull,         // below 70 % busy while the PCIe link was full
  kNodeCpuPressure,  // below 70 % busy while tasks of the node waited for CPUs, and no other job was on the node
  kNodeIoPressure,   // the same for storage
  kSharedGpu         // other jobs could use the GPU, so no other signal is counted
};
inline constexpr std::size_t kJobSignalCount = 10;
using SignalUnits = std::array<std::int64_t, kJobSignalCount>;

// A row of the table of signals.
struct JobSignalRow {
  JobSignal id;
  std::string_view name;
  unsigned phases;  // bits of the phases that hold its time
};
// In the order of JobSignal. Signals that share no phase are disjoint. Idle stretches, a full link and both pressures
// are disjoint too, and so are spin-wait and throttling. Lost clock is a part of throttling.
inline constexpr std::array<JobSignalRow, kJobSignalCount> kJobSignals = {{
    {JobSignal::kIdleHeld, "idle_held", 0b0001},
    {JobSignal::kIdleEmpty, "idle_empty", 0b0001},
    {JobSignal::kIdleUnknown, "idle_unknown", 0b0001},
    {JobSignal::kSpinWait, "spin_wait", 0b1000},
    {JobSignal::kThrottled, "throttled", 0b1110},
    {JobSignal::kClockLost, "clock_lost", 0b1110},
    {JobSignal::kPcieFull, "pcie_full", 0b0011},
    {JobSignal::kNodeCpuPressure, "node_cpu_pressure", 0b0011},
    {JobSignal::kNodeIoPressure, "node_io_pressure", 0b0011},
    {JobSignal::kSharedGpu, "shared_gpu", kAllJobTime},
}};
constexpr std::size_t Index(JobSignal s) { return static_cast<std::size_t>(s); }

constexpr bool JobSignalsInOrder() {
  for (std::size_t i = 0; i < kJobSignalCount; ++i) {
    if (Index(kJobSignals[i].id) != i) return false;
  }
  return true;
}
static_assert(JobSignalsInOrder());

}  // namespace idleburn
