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
#include "measure/visible_gpus.h"
#include "os/run_clock.h"
#include "telemetry/device.h"
#include "telemetry/live_sink.h"

namespace idleburn {

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
