#include "measure/live_gpus.h"

#include <chrono>
#include <condition_variable>
#include <mutex>
#include <thread>
#include <utility>

#include "measure/nvml_codes.h"
#include "measure/nvml_lane.h"
#include "measure/rocm_lane.h"

namespace idleburn {
namespace {

constexpr std::chrono::milliseconds kLastChance(500);  // of a driver that somebody no longer waits for

struct Opening {
  std::mutex mutex;
  std::condition_variable_any changed;
  bool done = false;
  nvml::Return said = nvml::kSuccess;
  Result<std::unique_ptr<NvmlLane>> lane;
};

NvidiaTrouble TroubleOf(nvml::Return said) {
  switch (NvmlCodeOf(said).handling) {
    case NvmlHandling::kOk:
      return NvidiaTrouble::kNoGpu;
    case NvmlHandling::kNoDriver:
      return said == nvml::kLibraryNotFound ? NvidiaTrouble::kNoLibrary : NvidiaTrouble::kNoDriver;
    case NvmlHandling::kMismatch:
      return NvidiaTrouble::kMismatch;
    default:
      return NvidiaTrouble::kRefused;
  }
}

// On a thread of its own: a driver that hangs does so here first, and must not keep a workload from starting.
Result<std::unique_ptr<NvmlLane>> OpenNvidia(const LiveGpuOptions& options, DeviceTable& devices, LiveSink& out,
                                             const std::shared_ptr<RunClock>& clock, const TimeLine& line,
                                             const std::stop_token& stop, NvidiaTrouble* trouble) {
  *trouble = NvidiaTrouble::kNoLibrary;
  Result<std::unique_ptr<NvmlLibrary>> library = NvmlLibrary::Open(options.nvml_library, clock);
  if (!library) return tl::unexpected<Error>(std::move(library).error());
  const std::shared_ptr<NvmlLibrary> nvml = std::move(*library);
  const auto opening = std::make_shared<Opening>();
  std::thread thread([opening, nvml, period = options.period, &devices, &out, clock, line] {
    nvml::Return said = nvml::kSuccess;
    Result<std::unique_ptr<NvmlLane>> lane = NvmlLane::Open(nvml, period, devices, out, clock, line, &said);
    const std::lock_guard lock(opening->mutex);
    opening->said = said;
    opening->lane = std::move(lane);
    opening->done = true;
    opening->changed.notify_all();
  });
  std::unique_lock lock(opening->mutex);
  const auto done = [&] { return opening->done; };
  bool answered = opening->changed.wait_for(lock, stop, options.patience, done);
  if (!answered && stop.stop_requested()) answered = opening->changed.wait_for(lock, kLastChance, done);
  if (!answered) {
    const char* const pending = nvml->Pending();
    nvml->Abandon();
    thread.detach();
    *trouble = NvidiaTrouble::kHang;
    return Fail(std::string("the NVIDIA driver hangs: ") + (pending != nullptr ? pending : "a call") +
                " does not return; see dmesg, and reboot if nvidia-smi hangs too");
  }
  lock.unlock();
  thread.join();
  *trouble = opening->lane ? NvidiaTrouble::kNone : TroubleOf(opening->said);
  return std::move(opening->lane);
}

}  // namespace

LiveGpus LiveGpus::Open(const LiveGpuOptions& options, DeviceTable& devices, LiveSink& out,
                        const std::shared_ptr<RunClock>& clock, const TimeLine& line, const std::stop_token& stop) {
  LiveGpus found;
  auto nvidia = OpenNvidia(options, devices, out, clock, line, stop, &found.nvidia.trouble);
  if (nvidia) {
    found.gpus = (*nvidia)->Measured();
    found.lanes.push_back(std::move(*nvidia));
  } else {
    found.nvidia.why = nvidia.error().message;
  }
  auto amd = RocmLane::Open(options.sysfs, devices, out);
  if (amd) {
    for (MeasuredGpu& gpu : (*amd)->Measured(devices)) found.gpus.push_back(std::move(gpu));
    found.lanes.push_back(std::move(*amd));
  }
  if (found.lanes.empty()) found.why_not = found.nvidia.why;
  return found;
}

}  // namespace idleburn
