#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "classify/thresholds.h"
#include "classify/totals.h"
#include "diagnose/trace_diagnosis.h"
#include "price/cost_report.h"
#include "telemetry/device.h"
#include "telemetry/host_timeline.h"

namespace idleburn {

// What was seen of the machine beside the readings of its GPUs.
struct MachineView {
  const HostTimeline* host = nullptr;  // null: nobody looked at the host
  // Bytes a second that the PCIe link of a device can move each way, by DeviceId; 0, or beyond the end: not known.
  std::vector<std::int64_t> link_speed;
  std::string command;  // that was run or watched; empty: none, or not known
};

// A classified and priced run as the findings see it. Refers to its parts and must not outlive them.
struct Scene {
  const RunResult& run;
  const DeviceTable& devices;
  const CostReport& cost;
  MachineView machine = {};
  const TraceDiagnosis* trace = nullptr;  // of the run, or of a part of it
  bool traced_only = false;               // the run is what the trace covers: there are no samples
  Thresholds thresholds = {};             // by which the run was classified

  // Of observed GPU time; 0 when nothing was observed.
  [[nodiscard]] double Share(std::int64_t gpu_ns) const;
  // Observed nanoseconds of a device as GPU-nanoseconds: a MIG instance counts by its slices of the board, and its
  // board only by the time in which it was one GPU.
  [[nodiscard]] std::int64_t Weighted(std::int64_t ns, DeviceId id) const;
  // "<source>.<field>" that gave a signal; the signal's own name where no source named it.
  [[nodiscard]] std::string Counter(const DeviceResult& d, Signal s) const;
  // The counter that decided the phases, of the first device that has one; the first in place, as everywhere here: in
  // which order readings came is no matter.
  [[nodiscard]] std::string BusyCounter() const;
  // "GPU 3", by index, else UUID, else position; "n1 GPU 3" where there are several hosts.
  [[nodiscard]] std::string NameOf(DeviceId id) const;
  // "GPU 0, GPU 1, GPU 2, GPU 3 and 3 more"
  [[nodiscard]] std::string ListOf(std::vector<DeviceId> gpus) const;
};

// The device to show something by: the one that has most of it, of equals the first in place.
class Example {
 public:
  explicit Example(const CostReport& cost) : cost_(cost) {}
  void Offer(const DeviceResult& d, double has = 0);
  [[nodiscard]] const DeviceResult* best() const { return best_; }  // null: none was offered
  [[nodiscard]] double has() const { return has_; }

 private:
  const CostReport& cost_;
  const DeviceResult* best_ = nullptr;
  double has_ = 0;
};

// "10", "7.5": a threshold as a sentence has it.
std::string InPercent(std::int64_t micro_percent);

// Time of all phases but idle.
std::int64_t BusyPhasesNs(const DeviceTotals& totals);

}  // namespace idleburn
