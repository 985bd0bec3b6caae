#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "measure/experiment.h"
#include "telemetry/device.h"
#include "telemetry/hidden_gpus.h"

namespace idleburn {

enum class GpuMaker : std::uint8_t { kNvidia, kAmd };

// A GPU, or MIG instance, that is measured, as a program names it.
struct MeasuredGpu {
  DeviceId device = 0;
  GpuMaker maker = GpuMaker::kNvidia;
  std::string uuid;  // "GPU-...", "MIG-..."; empty where it has none
};

// Which of `gpus` a program with that environment cannot see, by the rules of CUDA_VISIBLE_DEVICES (indices or UUIDs of
// GPUs or of MIG instances, of which a start suffices; what stands behind one that is none is not seen, and a repeated
// one hides all), ROCR_VISIBLE_DEVICES and HIP_VISIBLE_DEVICES. Indices count CUDA's own order: that of the PCI bus
// with CUDA_DEVICE_ORDER=PCI_BUS_ID, or, as all are equally fast, where there is one model; otherwise the fastest
// first, which is not known here. What cannot be told hides nothing, and is said.
HiddenGpus GpusHiddenBy(const VariableLookup& environment, const std::vector<MeasuredGpu>& gpus,
                        const DeviceTable& devices);

}  // namespace idleburn
