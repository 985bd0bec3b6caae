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
#include "measure/system_facts.h"
#include "os/run_clock.h"
#include "telemetry/device.h"
#include "telemetry/live_sink.h"
#include "telemetry/run_facts.h"

namespace idleburn {

// Finds the GPUs of this machine that can be measured, and those that a workload's environment hides. The live
// session of a run (run/live_session.h) opens them, and counts only the GPUs that its command can see.

// Whose driver shows a GPU, and so which variables hide it.
enum class GpuMaker : std::uint8_t { kNvidia, kAmd };

// A measured GPU or MIG instance, with the names that programs use.
struct MeasuredGpu {
  DeviceId device = 0;
  GpuMaker maker = GpuMaker::kNvidia;
  std::vector<std::string> uuids;  // "GPU-...", or "MIG-..." of each compute instance; may be empty
  bool in_part = false;            // the driver hides some instances of this board from this process
};

// The GPUs that a program with that environment cannot see, by CUDA_VISIBLE_DEVICES, ROCR_VISIBLE_DEVICES and
// HIP_VISIBLE_DEVICES (docs/measuring.md, "Which GPUs a run pays for").
// * An entry is an index or UUID of a GPU or MIG instance. The beginning of a UUID suffices.
// * An invalid entry ends the list: "0,9,1" on two GPUs shows GPU 0 only. A repeated entry hides all GPUs.
// * Indices count in CUDA's order. With CUDA_DEVICE_ORDER=PCI_BUS_ID, or if all GPUs are of one model, that is the
//   order on the PCI bus. Otherwise CUDA counts the fastest first, which is not known here.
//
// If the rules give no certain answer, nothing is hidden and `doubt` says why. Hiding a GPU that the run used would
// understate its cost.
HiddenGpus GpusHiddenBy(const VariableLookup& environment, const std::vector<MeasuredGpu>& gpus,
                        const DeviceTable& devices);

// Hides boards if only some of their MIG instances belong to this run. That is so if the driver hides other
// instances, or in a container that sees fewer compute slices than the board has. NVIDIA_VISIBLE_DEVICES=all excludes
// the latter. A null `environment` means that the container's devices are unknown; then only the driver counts.
//
// Without this the run would pay for the whole board, and the slices of others would be its idle time.
void HideWhatIsNotShown(const VariableLookup& environment, bool in_container, const std::vector<MeasuredGpu>& gpus,
                        const DeviceTable& devices, HiddenGpus* hidden);

// How to open the GPUs, and how long to wait for a driver that is slow or hangs.
struct LiveGpuOptions {
  Nanos period{100'000'000};  // time between the sampler's ticks
  // A libnvidia-ml to use instead of the system's. The command line takes it from IDLEBURN_NVML_LIBRARY.
  std::string nvml_library;
  // Where the kernel shows devices. A test has its own.
  std::string sysfs = "/sys";
  // How long to wait for the driver's list of GPUs. A driver that must be loaded takes seconds per GPU. Absent: until
  // somebody asks to stop.
  std::optional<Nanos> patience;
  // After this time a note says that the driver is slow. `tell_slow`, if set, says so while it still waits.
  Nanos slow_after{10 * kNanosPerSecond};
  std::function<void(const std::string&)> tell_slow;
};

// Why no NVIDIA GPU is measured.
enum class NvidiaTrouble : std::uint8_t {
  kNone,
  kNoLibrary,  // no library, or one that is not NVML
  kNoDriver,   // the kernel module is not loaded
  kNoGpu,      // the driver lists no GPU
  kMismatch,   // library and kernel module have different versions
  kSilent,     // a call did not return in time
  kRefused,    // any other error
};
// Whether NVIDIA GPUs are measured. `doctor` explains it even on a machine with AMD GPUs.
struct NvidiaState {
  NvidiaTrouble trouble = NvidiaTrouble::kNone;
  std::string why;  // one line that says why not and what to do; empty without trouble
};

// The GPUs that can be measured on this machine.
struct LiveGpus {
  std::vector<std::unique_ptr<Lane>> lanes;  // empty: none
  std::vector<MeasuredGpu> gpus;             // the GPUs of all lanes
  std::string why_not;                       // without lanes, one line that says why and what to do
  NvidiaState nvidia;                        // also set if there are other GPUs

  // Enters the GPUs in `devices` through `out`. `devices` must outlive the lanes. It never fails: a machine without a
  // usable GPU has no lanes. When asked to stop, it waits half a second more for a driver that has not answered.
  static LiveGpus Open(const LiveGpuOptions& options, DeviceTable& devices, LiveSink& out,
                       const std::shared_ptr<RunClock>& clock, const TimeLine& line, const std::stop_token& stop = {});
};

}  // namespace idleburn
