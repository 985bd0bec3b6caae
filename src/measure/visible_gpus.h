#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "measure/experiment.h"
#include "telemetry/device.h"
#include "telemetry/run_facts.h"

namespace idleburn {

enum class GpuMaker : std::uint8_t { kNvidia, kAmd };

// A GPU, or MIG instance, that is measured, as a program names it.
struct MeasuredGpu {
  DeviceId device = 0;
  GpuMaker maker = GpuMaker::kNvidia;
  std::vector<std::string> uuids;  // "GPU-..."; "MIG-..." of each compute instance of a GPU instance; may be none
  bool in_part = false;            // a board of which the driver keeps instances from this process
};

// Which of `gpus` a program with that environment cannot see, by the rules of CUDA_VISIBLE_DEVICES (indices or UUIDs of
// GPUs or of MIG instances, of which a start suffices; what stands behind one that is none is not seen, and a repeated
// one hides all), ROCR_VISIBLE_DEVICES and HIP_VISIBLE_DEVICES. Indices count CUDA's own order: that of the PCI bus
// with CUDA_DEVICE_ORDER=PCI_BUS_ID, or, as all are equally fast, where there is one model; otherwise the fastest
// first, which is not known here. What cannot be told hides nothing, and is said.
HiddenGpus GpusHiddenBy(const VariableLookup& environment, const std::vector<MeasuredGpu>& gpus,
                        const DeviceTable& devices);

// Hides boards of which only instances are meant for here: where the driver keeps others from this process, and in a
// container that was not given all (NVIDIA_VISIBLE_DEVICES=all) and is shown fewer compute slices than the board has.
// `environment` null: nobody knows what the container was given, so only the driver's word counts.
void HideWhatIsNotShown(const VariableLookup& environment, bool in_container, const std::vector<MeasuredGpu>& gpus,
                        const DeviceTable& devices, HiddenGpus* hidden);

}  // namespace idleburn
