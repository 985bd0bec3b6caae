// Everything that diagnosis looks at, in one struct, and how its sentences name devices, counters and shares.

#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "classify/thresholds.h"
#include "classify/totals.h"
#include "diagnose/trace_diagnosis.h"
#include "price/cost_report.h"
#include "telemetry/device.h"
#include "telemetry/host.h"

namespace idleburn {

// Phases as indices of arrays by phase.
inline constexpr auto kIdlePhase = static_cast<std::size_t>(Phase::kIdle);
inline constexpr auto kUnderutilizedPhase = static_cast<std::size_t>(Phase::kUnderutilized);
inline constexpr auto kProductivePhase = static_cast<std::size_t>(Phase::kProductive);
inline constexpr auto kBoundPhase = static_cast<std::size_t>(Phase::kComputeBound);

// What is known about the machine besides the readings of its GPUs.
struct MachineView {
  const HostTimeline* host = nullptr;  // null: nothing was read of the host
  // Bytes a second that the PCIe link of each device can move in one direction, by DeviceId. 0 or a missing
  // element means unknown.
  std::vector<std::int64_t> link_speed;
  // The command that was run or watched; empty if none or unknown.
  std::string command;
};

// A classified and priced run, as the diagnosis sees it. Refers to its parts and must not outlive them.
struct Scene {
  const RunResult& run;
  const DeviceTable& devices;
  const CostReport& cost;
  MachineView machine = {};
  const TraceDiagnosis* trace = nullptr;  // of the run or of a part of it
  // The run is what the trace covers: there are no samples.
  bool traced_only = false;
  Thresholds thresholds = {};  // those that classified the run

  // As a share of observed GPU time; 0 if nothing was observed.
  [[nodiscard]] double Share(std::int64_t gpu_ns) const;
  // Converts observed nanoseconds of a device to GPU-nanoseconds. A MIG instance counts by its slices. Its
  // board counts only for the time in which it was one GPU. Example: 7 s of one of 7 slices are 1 GPU-second.
  [[nodiscard]] std::int64_t Weighted(std::int64_t ns, DeviceId id) const;
  // The "<source>.<field>" that supplied a signal; the signal's own name if no source named it.
  [[nodiscard]] std::string Counter(const DeviceResult& d, Signal s) const;
  // The counter that decided the phases, from the first device that has one. "First" is by place here and
  // below, so the order in which inputs were read changes no output.
  [[nodiscard]] std::string BusyCounter() const;
  // "GPU 3": by index, else UUID, else position. "n1 GPU 3" if there are several hosts.
  [[nodiscard]] std::string NameOf(DeviceId id) const;
  // "GPU 0, GPU 1, GPU 2, GPU 3 and 3 more"
  [[nodiscard]] std::string ListOf(std::vector<DeviceId> gpus) const;
};

// Selects the device that illustrates a finding: the one with the most, and of equals the first by place.
class Example {
 public:
  explicit Example(const CostReport& cost) : cost_(cost) {}
  // Offers a device that has this much.
  void Offer(const DeviceResult& d, double has = 0);
  // The selected device; null if none was offered.
  [[nodiscard]] const DeviceResult* best() const { return best_; }
  [[nodiscard]] double has() const { return has_; }

 private:
  const CostReport& cost_;
  const DeviceResult* best_ = nullptr;
  double has_ = 0;
};

// A threshold as written in a sentence: "10", "7.5".
std::string InPercent(std::int64_t micro_percent);

// Time in all phases except idle.
std::int64_t BusyPhasesNs(const DeviceTotals& totals);

// Whether a power cap held clocks back on a device whose power limits were not read. Nothing then tells a cap at the
// board's default limit, which is normal, from one that somebody lowered.
bool LacksPowerLimits(const RunResult& run);

}  // namespace idleburn
