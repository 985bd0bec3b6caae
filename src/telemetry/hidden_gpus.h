#pragma once

#include <string>
#include <vector>

#include "telemetry/device.h"
#include "telemetry/live_sink.h"
#include "telemetry/run_facts.h"

namespace idleburn {

// GPUs of a machine that the workload of a run could not see: measured, and no part of what the run cost.
struct HiddenGpus {
  std::vector<DeviceId> devices;
  std::string because;  // "CUDA_VISIBLE_DEVICES=2,1"
  std::string doubt;    // why nothing is hidden although something should be; else empty

  // The facts by which a recording tells them.
  [[nodiscard]] std::vector<RunFact> Facts(const DeviceTable& table) const;
  // From the facts of a recording whose devices are `table`.
  static HiddenGpus From(const RunFacts& facts, const DeviceTable& table);
};

}  // namespace idleburn
