#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <vector>

#include "base/time.h"
#include "measure/lane.h"
#include "measure/provenance.h"
#include "os/run_clock.h"
#include "telemetry/device.h"
#include "telemetry/hidden_gpus.h"
#include "telemetry/live_sink.h"

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

struct LiveGpuOptions {
  Nanos period{100'000'000};  // of the sampler's ticks
  // libnvidia-ml to use instead of the system's; the command line takes it from IDLEBURN_NVML_LIBRARY.
  std::string nvml_library;
  // Where the kernel shows devices; a test has its own.
  std::string sysfs = "/sys";
  // How long the driver may take to list its GPUs: one that is loaded first takes seconds for each. Then it is left
  // alone. Absent: until somebody asks to stop.
  std::optional<Nanos> patience;
  // That it takes so long is noted, and told by `tell_slow` if there is one, while it is waited for.
  Nanos slow_after{10 * kNanosPerSecond};
  std::function<void(const std::string&)> tell_slow;
};

// Why no NVIDIA GPU is measured.
enum class NvidiaTrouble : std::uint8_t {
  kNone,
  kNoLibrary,  // nothing to load, or nothing that is NVML
  kNoDriver,   // its kernel module is not loaded
  kNoGpu,      // the driver lists none
  kMismatch,   // library and kernel module are of different versions
  kSilent,     // a call has not returned in all the time it was waited for
  kRefused,    // it said something else
};
struct NvidiaState {
  NvidiaTrouble trouble = NvidiaTrouble::kNone;
  std::string why;  // one line that says why, and what to do; empty if there is no trouble
};

// The GPUs that can be measured on this machine.
struct LiveGpus {
  std::vector<std::unique_ptr<Lane>> lanes;  // empty: none
  std::vector<MeasuredGpu> gpus;             // of all lanes
  std::string why_not;                       // then one line that says why, and what to do
  NvidiaState nvidia;                        // also where there are GPUs of others

  // Enters the GPUs in `devices`, which outlives the lanes, by way of `out`. Never fails: a machine without a usable
  // GPU has no lanes. When asked to stop, a driver that has not answered yet is waited for half a second more.
  static LiveGpus Open(const LiveGpuOptions& options, DeviceTable& devices, LiveSink& out,
                       const std::shared_ptr<RunClock>& clock, const TimeLine& line, const std::stop_token& stop = {});
};

}  // namespace idleburn
