#include "measure/live_gpus.h"

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <mutex>
#include <optional>
#include <set>
#include <string_view>
#include <thread>
#include <utility>

#include "measure/nvml_lane.h"
#include "measure/nvml_library.h"
#include "measure/rocm_lane.h"
#include "os/held_signals.h"
#include "text/number.h"
#include "text/strings.h"

namespace idleburn {

namespace {

constexpr std::size_t kLongestShown = 40;  // a UUID

using Gpus = std::vector<const MeasuredGpu*>;

// Reads an index as strtol does: "2", "+2", "2nd". Absent if there is none or it is negative.
std::optional<std::size_t> IndexIn(std::string_view part) {
  if (!part.empty() && part.front() == '+') part.remove_prefix(1);
  const std::size_t digits = std::min(part.find_first_not_of("0123456789"), part.size());
  const std::optional<std::int64_t> index = ParseInteger(part.substr(0, digits));
  return index ? std::optional(static_cast<std::size_t>(*index)) : std::nullopt;
}

// The GPUs that a list of a variable chooses.
struct Choice {
  Gpus gpus;
  bool by_index = false;
  std::string unknown;  // an instance that is not measured
};

// A GPU and the name by which the list chose it. Two compute instances of one GPU instance have one device and two
// names, and naming both is no repetition.
struct Named {
  const MeasuredGpu* gpu = nullptr;
  std::string_view name;
  friend bool operator==(const Named&, const Named&) = default;
};

// The only GPU whose UUID begins with `part`. Null if there is none or more than one.
Named ByUuid(std::string_view part, const Gpus& gpus) {
  Named found;
  for (const MeasuredGpu* gpu : gpus) {
    for (const std::string& uuid : gpu->uuids) {
      if (!StartsWithIgnoreCase(uuid, part)) continue;
      if (found.gpu != nullptr) return {};
      found = {gpu, uuid};
    }
  }
  return found;
}

// The instance with the name of older drivers: "MIG-GPU-<uuid of the board>/<GPU instance>/<compute instance>".
Named ByOldMigName(std::string_view part, const Gpus& gpus, const DeviceTable& devices) {
  const std::size_t slash = part.find('/');
  if (!StartsWithIgnoreCase(part, "MIG-GPU-") || slash == std::string_view::npos) return {};
  const std::string_view board = part.substr(4, slash - 4);
  const std::string_view rest = part.substr(slash + 1);
  for (const MeasuredGpu* gpu : gpus) {
    const Device& device = devices[gpu->device];
    if (device.mig && EqualsIgnoreCase(device.uuid, board) && device.mig->id == rest.substr(0, rest.find('/')))
      return {gpu, part};
  }
  return {};
}

// Reads a list as CUDA does. `boards` are in the order of indices. It ends at the first entry that chooses no GPU.
Choice Choose(std::string_view list, const Gpus& boards, const Gpus& instances, const DeviceTable& devices) {
  Choice choice;
  std::vector<Named> named;
  for (const std::string_view part : Split(list, ',')) {
    Named next;
    if (StartsWithIgnoreCase(part, "MIG-")) {
      next = ByUuid(part, instances);
      if (next.gpu == nullptr) next = ByOldMigName(part, instances, devices);
      if (next.gpu == nullptr) choice.unknown = part;
    } else if (StartsWithIgnoreCase(part, "GPU-")) {
      next = ByUuid(part, boards);
    } else if (const std::optional<std::size_t> index = IndexIn(part); index && *index < boards.size()) {
      next.gpu = boards[*index];
      if (!next.gpu->uuids.empty()) next.name = next.gpu->uuids.front();
      choice.by_index = true;
    }
    if (next.gpu == nullptr) break;
    if (std::find(named.begin(), named.end(), next) != named.end()) {
      choice.gpus.clear();
      break;
    }
    named.push_back(next);
    if (std::find(choice.gpus.begin(), choice.gpus.end(), next.gpu) == choice.gpus.end()) {
      choice.gpus.push_back(next.gpu);
    }
  }
  return choice;
}

// The variable as a report shows it, cut if it is long: "CUDA_VISIBLE_DEVICES=0,1".
std::string Shown(std::string_view name, std::string_view value) {
  if (value.empty()) return "an empty " + std::string(name);
  return std::string(name) + "=" + std::string(value.substr(0, kLongestShown)) +
         (value.size() > kLongestShown ? "..." : "");
}

// The GPUs of one maker: boards in the order of the PCI bus, and instances. Without all bus ids the boards stay in
// the order of the driver.
struct Maker {
  Gpus boards;
  Gpus instances;
  bool one_model = true;
};
Maker OfMaker(GpuMaker maker, const std::vector<MeasuredGpu>& gpus, const DeviceTable& devices) {
  Maker all;
  for (const MeasuredGpu& gpu : gpus) {
    if (gpu.maker != maker) continue;
    (devices[gpu.device].mig ? all.instances : all.boards).push_back(&gpu);
  }
  const auto bus = [&](const MeasuredGpu* gpu) -> const std::string& { return devices[gpu->device].bus_id; };
  const bool placed = std::none_of(all.boards.begin(), all.boards.end(), [&](const auto* g) { return bus(g).empty(); });
  if (placed) std::stable_sort(all.boards.begin(), all.boards.end(), [&](auto* a, auto* b) { return bus(a) < bus(b); });
  for (const MeasuredGpu* gpu : all.boards) {
    all.one_model = all.one_model && devices[gpu->device].name == devices[all.boards.front()->device].name;
  }
  return all;
}

// Hides all GPUs that were not chosen. A chosen board shows its instances too.
void HideRest(const Maker& all, const Gpus& chosen, const DeviceTable& devices, HiddenGpus* hidden) {
  std::set<DeviceId> shown;
  for (const MeasuredGpu* gpu : chosen) shown.insert(gpu->device);
  for (const Gpus* some : {&all.boards, &all.instances}) {
    for (const MeasuredGpu* gpu : *some) {
      const std::optional<DeviceId>& board = devices[gpu->device].board;
      if (shown.count(gpu->device) == 0 && (!board || shown.count(*board) == 0)) hidden->devices.push_back(gpu->device);
    }
  }
}

// Adds one reason to a list of reasons.
void Say(const std::string& text, std::string* all) { *all += (all->empty() ? "" : "; ") + text; }

// Applies CUDA_VISIBLE_DEVICES. If its indices are ambiguous here, it hides nothing and says why. A list that shows
// all boards or none is never ambiguous, whatever the order.
void HideNvidia(const VariableLookup& environment, const Maker& all, const DeviceTable& devices, HiddenGpus* hidden) {
  constexpr std::string_view kVariable = "CUDA_VISIBLE_DEVICES";
  const std::optional<std::string> list = environment(kVariable);
  if (!list || all.boards.empty()) return;
  const std::string shown = Shown(kVariable, *list);
  const Choice choice = Choose(*list, all.boards, all.instances, devices);
  if (!choice.unknown.empty()) {
    return Say(shown + " names a MIG instance that idleburn does not measure under that name", &hidden->doubt);
  }
  const bool some = !choice.gpus.empty() && choice.gpus.size() < all.boards.size();
  if (some && choice.by_index && !all.instances.empty()) {
    return Say(shown + " names GPUs by index, and some are split into MIG instances; name them by UUID",
               &hidden->doubt);
  }
  const bool by_bus = environment("CUDA_DEVICE_ORDER") == "PCI_BUS_ID";
  if (some && choice.by_index && !by_bus && !all.one_model) {
    return Say(
        shown +
            " counts the fastest GPU first, and this machine has different models; set CUDA_DEVICE_ORDER=PCI_BUS_ID, " +
            "or name them by UUID",
        &hidden->doubt);
  }
  const std::size_t before = hidden->devices.size();
  HideRest(all, choice.gpus, devices, hidden);
  if (hidden->devices.size() > before) Say(shown, &hidden->because);
}

// Applies ROCR_VISIBLE_DEVICES, then HIP_VISIBLE_DEVICES or else CUDA_VISIBLE_DEVICES. HIP's indices count the GPUs
// that ROCR leaves visible. ROCm's own order is not known here, so indices count only if they leave all GPUs or none.
void HideAmd(const VariableLookup& environment, const Maker& all, const DeviceTable& devices, HiddenGpus* hidden) {
  Gpus left = all.boards;
  bool by_index = false;
  std::string shown;
  const std::optional<std::string> hip = environment("HIP_VISIBLE_DEVICES");
  for (const std::string_view name : {std::string_view("ROCR_VISIBLE_DEVICES"),
                                      std::string_view(hip ? "HIP_VISIBLE_DEVICES" : "CUDA_VISIBLE_DEVICES")}) {
    const std::optional<std::string> list = environment(name);
    if (!list) continue;
    const Choice choice = Choose(*list, left, {}, devices);
    by_index = by_index || (choice.by_index && choice.gpus.size() < left.size());
    left = choice.gpus;
    Say(Shown(name, *list), &shown);
  }
  if (left.size() == all.boards.size()) return;
  if (by_index && !left.empty()) {
    return Say(shown + " uses ROCm's own order of GPUs, which idleburn does not know; name them by UUID",
               &hidden->doubt);
  }
  HideRest(all, left, devices, hidden);
  Say(shown, &hidden->because);
}

}  // namespace

HiddenGpus GpusHiddenBy(const VariableLookup& environment, const std::vector<MeasuredGpu>& gpus,
                        const DeviceTable& devices) {
  HiddenGpus hidden;
  HideNvidia(environment, OfMaker(GpuMaker::kNvidia, gpus, devices), devices, &hidden);
  HideAmd(environment, OfMaker(GpuMaker::kAmd, gpus, devices), devices, &hidden);
  return hidden;
}

void HideWhatIsNotShown(const VariableLookup& environment, bool in_container, const std::vector<MeasuredGpu>& gpus,
                        const DeviceTable& devices, HiddenGpus* hidden) {
  const bool given_a_part = in_container && environment && environment("NVIDIA_VISIBLE_DEVICES") != "all";
  const Maker all = OfMaker(GpuMaker::kNvidia, gpus, devices);
  for (const MeasuredGpu* board : all.boards) {
    const DeviceId id = board->device;
    if (std::find(hidden->devices.begin(), hidden->devices.end(), id) != hidden->devices.end()) continue;
    int shown = 0;
    for (const MeasuredGpu* instance : all.instances) {
      if (devices[instance->device].board == id) shown += devices[instance->device].mig->slices;
    }
    const int slices = BoardSlices(devices[id].name);
    if (shown == 0 || shown >= slices || (!board->in_part && !given_a_part)) continue;
    hidden->devices.push_back(id);
    Say(std::string(board->in_part ? "the driver" : "the container") + ": " + std::to_string(shown) + " of " +
            std::to_string(slices) + " compute slices are visible here",
        &hidden->because);
  }
}

namespace {

constexpr Nanos kLastChance(500'000'000);  // of a driver that somebody no longer waits for

// What the thread that opens the driver shares with the one that waits for it. The thread keeps it alive if nobody
// waits any more.
struct Opening {
  std::mutex mutex;
  std::condition_variable_any changed;
  bool done = false;
  nvml::Return said = nvml::kSuccess;
  Result<std::unique_ptr<NvmlLane>> lane;

  // Waits until the driver answered, somebody asks to stop, or the time is over. True if the driver answered.
  bool Wait(std::unique_lock<std::mutex>& lock, const std::stop_token& stop, std::optional<Nanos> time) {
    const auto is_done = [this] { return done; };
    return time ? changed.wait_for(lock, stop, *time, is_done) : changed.wait(lock, stop, is_done);
  }
};

// Says that a driver has not answered, with the call and the seconds. Whether it is slow or hangs cannot be known.
std::string Silence(const NvmlLibrary& nvml, Nanos since) {
  const char* const pending = nvml.Pending();
  const std::int64_t tenths = since.count() / (kNanosPerSecond / 10);
  return "the NVIDIA driver has not answered " + std::string(pending != nullptr ? pending : "a call") + " in " +
         std::to_string(tenths / 10) + "." + std::to_string(tenths % 10) + " s";
}

// The trouble behind the code that ended NvmlLane::Open. Success means that the driver lists no GPU.
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

// Opens the driver on its own thread. A driver that hangs does so here first, and must not delay a workload. It waits
// in up to three parts: until the note about a slow driver, until the patience is over, and half a second after a
// stop.
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
    const std::string text =
        Silence(*nvml, since()) +
        ": a driver that is still loading takes 1 to 3 s per GPU; idleburn measures NVIDIA GPUs once it answers";
    out.OnNote({line.At(clock->Monotonic()), NoteKind::kSlowDriver, text});
    if (options.tell_slow) options.tell_slow(text);
    lock.lock();
  }
  if (!answered) {
    answered = opening->Wait(lock, stop, options.patience ? std::optional(*options.patience - since()) : std::nullopt);
  }
  if (!answered && stop.stop_requested()) answered = opening->Wait(lock, {}, kLastChance);
  if (!answered) {
    // The thread stays behind. When its call returns, it sleeps forever (NvmlLibrary::End).
    nvml->Abandon();
    thread.detach();
    *trouble = NvidiaTrouble::kSilent;
    return Fail(Silence(*nvml, since()) +
                ": it is still loading (nvidia-smi -pm 1 keeps it loaded) or it hangs; see dmesg, and reboot if "
                "nvidia-smi hangs too");
  }
  lock.unlock();
  thread.join();
  *trouble = opening->lane ? NvidiaTrouble::kNone : TroubleOf(opening->said);
  return std::move(opening->lane);
}

}  // namespace

// Opens both makers. A machine may have GPUs of both, and trouble with one must not hide the other.
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
