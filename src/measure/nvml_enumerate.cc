// How NvmlLane finds its GPUs, at the start and after the library was initialised anew.
#include <algorithm>
#include <utility>

#include "measure/nvml_codes.h"
#include "measure/nvml_lane.h"

namespace idleburn {
namespace {

// A control group keeps the GPU from this container or job: it is nobody's here.
bool IsHidden(nvml::Return code) { return code == nvml::kNoPermission || code == nvml::kOperatingSystem; }

// A driver that is loaded answers in milliseconds; one that loads first, as without persistence mode when nobody uses a
// GPU, takes a second or more for each.
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

// Memory belongs to a GPU instance and is shared by its compute instances: one device a GPU instance, by all their
// names.
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

std::vector<MeasuredGpu> NvmlLane::Measured() const {
  std::vector<MeasuredGpu> measured;
  for (const auto& gpu : gpus_) {
    const NvmlGpu::Place& place = gpu->place();
    measured.push_back({place.id, GpuMaker::kNvidia, {place.uuid}, place.in_part});
    measured.back().uuids.insert(measured.back().uuids.end(), place.uuids_beside.begin(), place.uuids_beside.end());
  }
  return measured;
}

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

}  // namespace idleburn
