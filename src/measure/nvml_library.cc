#include "measure/nvml_library.h"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <map>
#include <utility>

#include "measure/nvml_lane.h"

namespace idleburn {
// Looks up every function. The second name is that of an older version with the same parameters.
NvmlLibrary::NvmlLibrary(DynamicLibrary library, std::string path, std::shared_ptr<RunClock> run_clock)
    : library_(library), path_(std::move(path)), clock_(std::move(run_clock)) {
  Find(init, "nvmlInit");
  Find(shutdown);
  Find(device_count, "nvmlDeviceGetCount");
  Find(handle_by_index, "nvmlDeviceGetHandleByIndex");
  Find(driver_version);
  Find(nvml_version);
  Find(name);
  Find(uuid);
  Find(pci_info, "nvmlDeviceGetPciInfo_v2");
  FindDescribing();
  FindMeasuring();
  FindRest();
}

void NvmlLibrary::FindDescribing() {
  Find(cuda_version, "nvmlSystemGetCudaDriverVersion");
  Find(vbios);
  Find(pcie_generation);
  Find(pcie_width);
  Find(most_pcie_generation);
  Find(most_pcie_width);
  Find(common_ancestor);
  Find(nvlink_state);
}

void NvmlLibrary::FindMeasuring() {
  Find(samples);
  Find(utilization);
  Find(memory_v2);
  Find(memory);
  Find(power_usage);
  Find(energy);
  Find(power_limit);
  Find(default_limit);
  Find(clock);
  Find(max_clock);
  Find(event_reasons, "nvmlDeviceGetCurrentClocksThrottleReasons");
  Find(temperature);
  Find(temperature_v1);
  Find(field_values);
  Find(ecc_errors);
}

void NvmlLibrary::FindRest() {
  Find(processes, "nvmlDeviceGetComputeRunningProcesses_v2");  // of the same layout; the oldest has another
  Find(processes_v1);
  Find(mps_processes, "nvmlDeviceGetMPSComputeRunningProcesses_v2");
  Find(drawing_processes, "nvmlDeviceGetGraphicsRunningProcesses_v2");
  Find(mig_mode);
  Find(mig_count);
  Find(mig_handle);
  Find(gpu_instance);
  Find(attributes);
  Find(event_set_create);
  Find(event_set_free);
  Find(register_events);
  Find(event_wait);
  Find(gpm_support);
  Find(gpm_alloc);
  Find(gpm_free);
  Find(gpm_sample);
  Find(gpm_mig_sample);
  Find(gpm_metrics);
}

// The plain name is the second try, for machines where only that link exists.
Result<std::unique_ptr<NvmlLibrary>> NvmlLibrary::Open(const std::string& path, std::shared_ptr<RunClock> run_clock) {
  std::string used = path.empty() ? "libnvidia-ml.so.1" : path;
  Result<DynamicLibrary> library = DynamicLibrary::Open(used);
  if (!library && path.empty()) {
    used = "libnvidia-ml.so";
    library = DynamicLibrary::Open(used);
  }
  if (!library) {
    if (path.empty()) return Fail("no NVIDIA GPU can be measured: " + NvmlSentence(nvml::kLibraryNotFound));
    return Fail("IDLEBURN_NVML_LIBRARY: " + library.error().message);
  }
  std::unique_ptr<NvmlLibrary> opened(new NvmlLibrary(*library, used, std::move(run_clock)));
  const bool enough = opened->init.address != nullptr && opened->shutdown.address != nullptr &&
                      opened->device_count.address != nullptr && opened->handle_by_index.address != nullptr;
  if (!enough) return Fail(used + ": not an NVML library, or too old: it cannot list GPUs; install a newer driver");
  return opened;
}

void NvmlLibrary::VisitTimes(const std::function<void(const NvmlEntry&)>& visit) const {
  for (const NvmlEntry* entry : entries_) {
    if (entry->times.count() > 0) visit(*entry);
  }
}

// Notes which function is called, for the watching thread, and returns when the call began.
Nanos NvmlLibrary::Begin(const NvmlEntry& function) {
  pending_.store(function.name, std::memory_order_release);
  return pass_at_ ? *pass_at_ : clock_->Monotonic();
}

// Records the duration. A thread that was abandoned meanwhile never gets beyond the first line: its caller may be
// gone, and the process is about to end.
void NvmlLibrary::End(NvmlEntry& function, Nanos start) {
  while (abandoned_.load()) pause();
  const Nanos now = clock_->Monotonic();
  function.times.Add(now - start);
  spent_ += now - start;
  if (pass_at_) pass_at_ = now;
  pending_.store(nullptr, std::memory_order_release);
}

namespace {

using H = NvmlHandling;

// All codes of NVML 13.3, sorted by number. Each sentence says what to do where something can be done.
constexpr std::array<NvmlCode, 31> kCodes = {{
    {0, H::kOk, "success"},
    {1, H::kLost, "NVML is not initialised: the driver was reloaded; idleburn opens it again"},
    {2, H::kPassing, "invalid argument: this driver does not know the call; update the driver"},
    {3, H::kUnsupported, "not supported by this GPU"},
    {4, H::kPermission, "no permission: run as root, or ask for the right to read this GPU's counters"},
    {5, H::kOk, "already initialised"},
    {6, H::kNothingNew, "nothing found since the last call"},
    {7, H::kPassing, "the list grew during the read; idleburn reads it again"},
    {8, H::kPassing, "a power cable of the GPU is not attached; check the connectors"},
    {9, H::kNoDriver, "the NVIDIA driver is not loaded: run nvidia-smi, and install or load the driver"},
    {10, H::kPassing, "the driver did not answer in time"},
    {11, H::kPassing, "the kernel found a problem with the GPU's interrupts; see dmesg"},
    {12, H::kNoDriver,
     "NVIDIA driver not found (libnvidia-ml.so); if this machine has an NVIDIA GPU, install its driver"},
    {13, H::kUnsupported, "this driver's library has no such function"},
    {14, H::kPassing, "the GPU's info memory is corrupted; ask the vendor"},
    {15, H::kLost, "the GPU is lost: it fell off the bus or was reset; see dmesg for Xid errors, then reboot"},
    {16, H::kLost, "the GPU needs a reset: run nvidia-smi --gpu-reset when no process uses it"},
    {17, H::kPassing, "the GPU is blocked by the operating system or its control group; check device permissions"},
    {18, H::kMismatch, "the driver was upgraded and its kernel module was not: reboot, or reload the module"},
    {19, H::kPassing, "the GPU is in use by an exclusive process"},
    {20, H::kPassing, "out of memory"},
    {21, H::kNothingNew, "no data yet"},
    {22, H::kUnsupported, "not available for virtual GPUs with ECC"},
    {23, H::kPassing, "the driver is out of resources"},
    {24, H::kUnsupported, "that clock cannot be read"},
    {25, H::kUnsupported, "this driver needs another version of the call"},
    {26, H::kUnsupported, "this driver no longer supports the call"},
    {27, H::kPassing, "the driver is not ready yet"},
    {28, H::kLost, "the GPU is not found: it was removed"},
    {29, H::kPassing, "the GPU's state does not allow the request now"},
    {999, H::kPassing, "unknown failure inside the driver; see dmesg"},
}};

// Whether NvmlCodeOf may search the table by halving.
constexpr bool InOrder() {
  for (std::size_t i = 1; i < kCodes.size(); ++i) {
    if (kCodes[i - 1].code >= kCodes[i].code) return false;
  }
  return true;
}
static_assert(InOrder());

}  // namespace

const NvmlCode& NvmlCodeOf(nvml::Return code) {
  const auto* const row = std::lower_bound(kCodes.begin(), kCodes.end(), code,
                                           [](const NvmlCode& a, nvml::Return b) { return a.code < b; });
  return row != kCodes.end() && row->code == code ? *row : kCodes.back();
}

std::string NvmlSentence(nvml::Return code) {
  // Without the library nothing answered: the loader, and not NVML, says so.
  constexpr nvml::Return kNoLibrary = 12;
  if (code == kNoLibrary) return std::string(NvmlCodeOf(code).sentence);
  return "NVML says " + std::to_string(code) + ": " + std::string(NvmlCodeOf(code).sentence);
}

// How NvmlLane finds and describes its GPUs, at the start and after each initialisation of the library.

namespace {

// Whether a control group hides the GPU from this container or job. Such a GPU does not count.
bool IsHidden(nvml::Return code) { return code == nvml::kNoPermission || code == nvml::kOperatingSystem; }

// A loaded driver initialises in milliseconds. A slower one was loaded first, which takes a second or more per GPU.
// That happens without persistence mode when nobody uses a GPU. Utilization right after that is too high.
constexpr Nanos kLoads(500'000'000);

}  // namespace

std::string NvmlLane::Text(NvmlFunction<char*, std::uint32_t>& function) {
  std::array<char, nvml::kVersionSize> text{};
  const nvml::Return code = nvml_->Call(function, text.data(), nvml::kVersionSize);
  return code == nvml::kSuccess ? std::string(text.data()) : std::string();
}

std::string NvmlLane::Text(NvmlFunction<nvml::Device, char*, std::uint32_t>& function, nvml::Device device) {
  std::array<char, nvml::kNameSize> text{};
  const nvml::Return code = nvml_->Call(function, device, text.data(), nvml::kNameSize);
  return code == nvml::kSuccess ? std::string(text.data()) : std::string();
}

// Distrusts utilization if the driver had to be loaded, which shows in how long all of this took.
nvml::Return NvmlLane::Initialise(LiveSink& out) {
  const Nanos start = clock_->Monotonic();
  const nvml::Return code = nvml_->Call(nvml_->init);
  initialised_ = code == nvml::kSuccess;
  if (code != nvml::kSuccess) return code;
  driver_version_ = Text(nvml_->driver_version);
  nvml_version_ = Text(nvml_->nvml_version);
  const nvml::Return listed = Enumerate(out);
  const Nanos end = clock_->Monotonic();
  if (listed != nvml::kSuccess || end - start <= kLoads * static_cast<std::int64_t>(boards_.size())) return listed;
  for (const std::size_t i : attached_) gpus_[i]->DistrustUntilSettled(line_.At(end));
  return listed;
}

// Lists the GPUs. A GPU that cannot be opened becomes a fact, except one that is hidden on purpose. That happens only
// at the first time, because a GPU that fails later is already in the run and is unobserved.
nvml::Return NvmlLane::Enumerate(LiveSink& out) {
  std::uint32_t count = 0;
  const nvml::Return code = nvml_->Call(nvml_->device_count, &count);
  if (code != nvml::kSuccess) return code;
  attached_.clear();
  boards_.clear();
  for (std::uint32_t index = 0; index < count; ++index) {
    const nvml::Return entered = EnterBoard(index, out);
    if (entered == nvml::kLibRmVersionMismatch) return entered;
    if (!told_ && entered != nvml::kSuccess && !IsHidden(entered)) {
      const std::string number = std::to_string(index);
      failed_.push_back({"gpus.failed." + number,
                         "GPU " + number + ": " + nvml_->handle_by_index.name + ": " + NvmlSentence(entered)});
    }
  }
  OpenEvents();
  const std::lock_guard lock(stale_mutex_);
  stale_.clear();
  const Instant now = line_.At(clock_->Monotonic());
  for (const auto& gpu : gpus_) stale_.push_back(gpu->Unread(now, Unobserved::kStale));
  return nvml::kSuccess;
}

// Enters one board and its MIG instances. Instances come first: `place` then says whether the board is split.
nvml::Return NvmlLane::EnterBoard(std::uint32_t index, LiveSink& out) {
  nvml::Device handle = nullptr;
  const nvml::Return code = nvml_->Call(nvml_->handle_by_index, index, &handle);
  if (code != nvml::kSuccess) return code;
  DeviceKey key;
  key.uuid = Text(nvml_->uuid, handle);
  key.name = Text(nvml_->name, handle);
  key.index = static_cast<int>(index);
  nvml::PciInfo pci{};
  if (nvml_->Call(nvml_->pci_info, handle, &pci) == nvml::kSuccess) key.bus_id = pci.bus_id.data();
  boards_.push_back({handle, key.uuid, std::to_string(index)});
  NvmlGpu::Place place;
  place.handle = place.board = handle;
  place.uuid = key.uuid;
  place.label = "GPU " + std::to_string(index);
  place.has_instances = EnterInstances(key, place, out);
  EnterGpu(std::move(place), key, out);
  return nvml::kSuccess;
}

// Enters one device per GPU instance, with the names of all its compute instances, because they share its memory.
bool NvmlLane::EnterInstances(const DeviceKey& key, NvmlGpu::Place& board, LiveSink& out) {
  std::uint32_t current = 0;
  std::uint32_t pending = 0;
  std::uint32_t most = 0;
  if (nvml_->Call(nvml_->mig_mode, board.handle, &current, &pending) != nvml::kSuccess || current == 0) return false;
  if (nvml_->Call(nvml_->mig_count, board.handle, &most) != nvml::kSuccess) return false;
  std::vector<NvmlGpu::Place> places;
  for (std::uint32_t i = 0; i < most; ++i) {
    NvmlGpu::Place place;
    std::uint32_t id = 0;
    const nvml::Return code = nvml_->Call(nvml_->mig_handle, board.handle, i, &place.handle);
    board.in_part = board.in_part || IsHidden(code);
    if (code != nvml::kSuccess || nvml_->Call(nvml_->gpu_instance, place.handle, &id) != nvml::kSuccess) continue;
    place.instance = id;
    place.uuid = Text(nvml_->uuid, place.handle);
    const auto known = std::find_if(places.begin(), places.end(), [&](const auto& p) { return p.instance == id; });
    if (known == places.end()) {
      places.push_back(std::move(place));
    } else {
      known->beside.push_back(place.handle);
      known->uuids_beside.push_back(place.uuid);
    }
  }
  for (NvmlGpu::Place& place : places) {
    DeviceKey instance = key;
    instance.mig = DescribeInstance(place);
    place.board = board.handle;
    place.label = board.label + " instance " + instance.mig->id;
    EnterGpu(std::move(place), instance, out);
  }
  return !places.empty();
}

// The name ends in the profile: "NVIDIA A100-SXM4-40GB MIG 1g.5gb". Without attributes the slices follow from the
// profile.
MigInstance NvmlLane::DescribeInstance(const NvmlGpu::Place& place) {
  MigInstance mig{std::to_string(*place.instance), {}, 1};
  const std::string name = Text(nvml_->name, place.handle);
  if (const std::size_t at = name.find("MIG "); at != std::string::npos) mig.profile = name.substr(at + 4);
  nvml::Attributes attributes{};
  const bool told = nvml_->Call(nvml_->attributes, place.handle, &attributes) == nvml::kSuccess;
  mig.slices = told && attributes.gpu_instance_slices > 0 ? static_cast<int>(attributes.gpu_instance_slices)
                                                          : ProfileSlices(mig.profile);
  return mig;
}

// The table of devices recognises a GPU by its UUID and returns the id that it had before.
void NvmlLane::EnterGpu(NvmlGpu::Place place, const DeviceKey& key, LiveSink& out) {
  out.ChangeDevices([&] { place.id = devices_.Enter(key); });
  const auto known = by_id_.find(place.id);
  if (known != by_id_.end()) {
    gpus_[known->second]->Attach(std::move(place));
    attached_.push_back(known->second);
    return;
  }
  by_id_[place.id] = gpus_.size();
  attached_.push_back(gpus_.size());
  lost_told_.push_back(false);
  const std::int64_t wall_us = clock_->Read().wall.nanos() / 1000;
  gpus_.push_back(std::make_unique<NvmlGpu>(*nvml_, std::move(place), nvml_version_, wall_us));
}

// Lists each device with all its UUIDs, because CUDA_VISIBLE_DEVICES may name any compute instance.
std::vector<MeasuredGpu> NvmlLane::Measured() const {
  std::vector<MeasuredGpu> measured;
  for (const auto& gpu : gpus_) {
    const NvmlGpu::Place& place = gpu->place();
    measured.push_back({place.id, GpuMaker::kNvidia, {place.uuid}, place.in_part});
    measured.back().uuids.insert(measured.back().uuids.end(), place.uuids_beside.begin(), place.uuids_beside.end());
  }
  return measured;
}

// Events are registered for boards only. An Xid error concerns the whole board.
void NvmlLane::OpenEvents() {
  if (nvml_->Call(nvml_->event_set_create, &events_) != nvml::kSuccess) {
    events_ = nullptr;
    return;
  }
  for (const std::size_t i : attached_) {
    const NvmlGpu::Place& place = gpus_[i]->place();
    if (!place.instance) nvml_->Call(nvml_->register_events, place.handle, nvml::kEventXid, events_);
  }
}

void NvmlLane::CloseEvents() {
  if (events_ != nullptr) nvml_->Call(nvml_->event_set_free, events_);
  events_ = nullptr;
}

namespace {

constexpr std::size_t kMostPaired = 16;  // most boards for which every pair is read

// Where the paths of two boards meet, nearest first. The codes are those of nvmlGpuTopologyLevel_t.
struct Level {
  int code;
  const char* words;
};
constexpr std::array<Level, 6> kLevels = {{{0, "on one board"},
                                           {10, "through one PCIe switch"},
                                           {20, "through several PCIe switches"},
                                           {30, "through one host bridge"},
                                           {40, "within one CPU"},
                                           {50, "between CPUs"}}};

// Adds the PCIe link of a board, present and maximum.
void AddLink(NvmlLibrary& nvml, const BoardHandle& board, std::vector<RunFact>& facts) {
  struct Row {
    NvmlFunction<nvml::Device, std::uint32_t*>* function;
    const char* key;
  };
  const std::array<Row, 4> rows = {{{&nvml.pcie_generation, ".pcie_generation"},
                                    {&nvml.pcie_width, ".pcie_width"},
                                    {&nvml.most_pcie_generation, ".pcie_most_generation"},
                                    {&nvml.most_pcie_width, ".pcie_most_width"}}};
  for (const Row& row : rows) {
    std::uint32_t value = 0;
    if (nvml.Call(*row.function, board.handle, &value) != nvml::kSuccess || value == 0 || value == nvml::kNone32) {
      continue;
    }
    facts.push_back({"gpu." + board.uuid + row.key, std::to_string(value)});
  }
}

// Adds how many NVLinks of a board are up. A board without NVLink fails at the first link and gets no fact, not 0.
void AddNvlinks(NvmlLibrary& nvml, const BoardHandle& board, std::vector<RunFact>& facts) {
  int up = 0;
  bool asked = false;
  for (std::uint32_t link = 0; link < nvml::kMostNvlinks; ++link) {
    std::uint32_t state = 0;
    if (nvml.Call(nvml.nvlink_state, board.handle, link, &state) != nvml::kSuccess) break;
    asked = true;
    up += state == 1 ? 1 : 0;
  }
  if (asked) facts.push_back({"gpu." + board.uuid + ".nvlinks", std::to_string(up)});
}

// The topology of all pairs: "0-1 2-3 through one PCIe switch; 0-2 0-3 1-2 1-3 between CPUs". Empty with one board,
// or with so many that asking for every pair takes too long.
std::string TopologyOf(NvmlLibrary& nvml, const std::vector<BoardHandle>& boards) {
  if (boards.size() < 2 || boards.size() > kMostPaired) return {};
  std::map<int, std::string> pairs;
  for (std::size_t a = 0; a < boards.size(); ++a) {
    for (std::size_t b = a + 1; b < boards.size(); ++b) {
      int level = -1;
      if (nvml.Call(nvml.common_ancestor, boards[a].handle, boards[b].handle, &level) != nvml::kSuccess) return {};
      pairs[level] += boards[a].index + "-" + boards[b].index + " ";
    }
  }
  std::string text;
  for (const Level& level : kLevels) {
    const auto found = pairs.find(level.code);
    if (found != pairs.end()) text += (text.empty() ? "" : "; ") + found->second + level.words;
  }
  return text;
}

}  // namespace

std::vector<RunFact> DescribeBoards(NvmlLibrary& nvml, const std::vector<BoardHandle>& boards) {
  std::vector<RunFact> facts;
  int cuda = 0;
  if (nvml.Call(nvml.cuda_version, &cuda) == nvml::kSuccess && cuda > 0) {
    facts.push_back({"cuda", std::to_string(cuda / 1000) + "." + std::to_string(cuda % 1000 / 10)});
  }
  for (const BoardHandle& board : boards) {
    std::array<char, nvml::kVbiosSize> vbios{};
    if (nvml.Call(nvml.vbios, board.handle, vbios.data(), nvml::kVbiosSize) == nvml::kSuccess) {
      facts.push_back({"gpu." + board.uuid + ".vbios", vbios.data()});
    }
    AddLink(nvml, board, facts);
    AddNvlinks(nvml, board, facts);
  }
  const std::string topology = TopologyOf(nvml, boards);
  if (!topology.empty()) facts.push_back({"gpu.topology", topology});
  return facts;
}

}  // namespace idleburn
