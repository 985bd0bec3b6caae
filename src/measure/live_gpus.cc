#include "measure/live_gpus.h"

#include <chrono>
#include <condition_variable>
#include <mutex>
#include <thread>
#include <utility>

#include "measure/nvml_codes.h"
#include "measure/nvml_lane.h"
#include "measure/rocm_lane.h"
#include "os/signal_stack.h"

namespace idleburn {
namespace {

constexpr Nanos kLastChance(500'000'000);  // of a driver that somebody no longer waits for

struct Opening {
  std::mutex mutex;
  std::condition_variable_any changed;
  bool done = false;
  nvml::Return said = nvml::kSuccess;
  Result<std::unique_ptr<NvmlLane>> lane;

  // Whether it is done by then.
  bool Wait(std::unique_lock<std::mutex>& lock, const std::stop_token& stop, std::optional<Nanos> time) {
    const auto is_done = [this] { return done; };
    return time ? changed.wait_for(lock, stop, *time, is_done) : changed.wait(lock, stop, is_done);
  }
};

// What is known of a driver that has not answered: not whether it hangs.
std::string Silence(const NvmlLibrary& nvml, Nanos since) {
  const char* const pending = nvml.Pending();
  const std::int64_t tenths = since.count() / (kNanosPerSecond / 10);
  return "the NVIDIA driver has not answered " + std::string(pending != nullptr ? pending : "a call") + " in " +
         std::to_string(tenths / 10) + "." + std::to_string(tenths % 10) + " s";
}

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
  std::unique_ptr<NvmlLibrary> library = TRY(NvmlLibrary::Open(options.nvml_library, clock));
  const std::shared_ptr<NvmlLibrary> nvml = std::move(library);
  const auto opening = std::make_shared<Opening>();
  std::thread thread([opening, nvml, period = options.period, &devices, &out, clock, line] {
    const SignalStack signals;
    nvml::Return said = nvml::kSuccess;
    Result<std::unique_ptr<NvmlLane>> lane = NvmlLane::Open(nvml, period, devices, out, clock, line, &said);
    const std::lock_guard lock(opening->mutex);
    opening->said = said;
    opening->lane = std::move(lane);
    opening->done = true;
    opening->changed.notify_all();
  });
  const Nanos start = clock->Monotonic();
  const auto since = [&] { return clock->Monotonic() - start; };
  std::unique_lock lock(opening->mutex);
  const bool slow = !options.patience || *options.patience > options.slow_after;
  bool answered = slow && opening->Wait(lock, stop, options.slow_after);
  if (slow && !answered && !stop.stop_requested()) {
    lock.unlock();  // who answers now, pushes into the same sink
    const std::string text = Silence(*nvml, since()) + ": one that loads first takes 1 to 3 s for each GPU; " +
                             "NVIDIA's GPUs are measured from when it answers";
    out.OnNote({line.At(clock->Monotonic()), NoteKind::kSlowDriver, text});
    if (options.tell_slow) options.tell_slow(text);
    lock.lock();
  }
  if (!answered) {
    answered = opening->Wait(lock, stop, options.patience ? std::optional(*options.patience - since()) : std::nullopt);
  }
  if (!answered && stop.stop_requested()) answered = opening->Wait(lock, {}, kLastChance);
  if (!answered) {
    nvml->Abandon();
    thread.detach();
    *trouble = NvidiaTrouble::kSilent;
    return Fail(Silence(*nvml, since()) +
                ": it was still loading (nvidia-smi -pm 1 keeps it loaded), or it hangs: see dmesg, and reboot if "
                "nvidia-smi hangs too");
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
