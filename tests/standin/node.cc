#include "standin/node.h"

#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <fstream>
#include <iterator>

#include "standin/live_activity.h"

namespace idleburn::standin {
namespace {

constexpr std::int64_t kManualWall = 1'700'000'000'000'000'000;

std::string Text(const char* path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()};
}

}  // namespace

Node& Node::This() {
  static Node* const kNode = new Node;  // never destroyed: a thread may hang inside it
  return *kNode;
}

std::int64_t Node::Clock(int id) {
  timespec t{};
  clock_gettime(id, &t);
  return std::int64_t{t.tv_sec} * 1'000'000'000 + t.tv_nsec;
}

void Node::Load(const std::string& text) {
  const std::lock_guard lock(mutex);
  script = ReadScript(text);
  if (!script.error.empty()) std::fprintf(stderr, "stand-in: %s\n", script.error.c_str());
  initialised = false;
  loaded_ = true;
  released = false;
  counts = {};
  handles_.clear();
  manual_ns_ = 0;
  wall_steps_.clear();
  base_ns_ = script.manual_clock ? 0 : Clock(CLOCK_MONOTONIC);
  wall_base_ns_ = script.manual_clock ? kManualWall : Clock(CLOCK_REALTIME);
  reloads_done_ = 0;
  const char* const shared = std::getenv("IDLEBURN_STANDIN_SHM");
  if (shared != nullptr) {
    BuildLive(shared);
  } else {
    BuildScripted();
  }
  order_.clear();
  for (std::size_t i = 0; i < gpus_.size(); ++i) order_.push_back(static_cast<int>(i));
}

void Node::LoadFromEnvironment() {
  if (loaded_) return;
  const char* const path = std::getenv("IDLEBURN_STANDIN_SCRIPT");
  Load(path != nullptr ? Text(path) : "gpu 0\n");
}

void Node::BuildScripted() {
  gpus_.clear();
  for (std::size_t i = 0; i < script.gpus.size(); ++i) {
    const ScriptGpu& told = script.gpus[i];
    Gpu gpu;
    const std::string name = std::to_string(i);
    gpu.board = std::make_unique<Board>(told.facts, ScriptedActivity(told.facts, script.timeline[name]));
    for (const BoardFacts& facts : told.instances) {
      std::string instance = name + "/" + std::to_string(facts.gpu_instance);
      if (facts.compute_instance > 0) instance += "/" + std::to_string(facts.compute_instance);
      gpu.instances.push_back(std::make_unique<Board>(facts, ScriptedActivity(facts, script.timeline[instance])));
    }
    gpus_.push_back(std::move(gpu));
  }
}

void Node::BuildLive(const std::string& path) {
  gpus_.clear();
  const std::shared_ptr<LiveMarks> marks = LiveMarks::Map(path);
  if (marks == nullptr) std::fprintf(stderr, "stand-in: %s cannot be mapped\n", path.c_str());
  if (marks != nullptr) marks->file->driver_start = base_ns_;
  if (script.gpus.empty()) script.gpus.push_back(ReadScript("gpu 0\n").gpus[0]);
  for (std::size_t i = 0; marks != nullptr && i < script.gpus.size(); ++i) {
    Gpu gpu;
    const BoardFacts& facts = script.gpus[i].facts;
    gpu.board = std::make_unique<Board>(facts, LiveActivityOf(marks, facts, static_cast<int>(i), base_ns_));
    gpus_.push_back(std::move(gpu));
  }
}

std::int64_t Node::Now() { return script.manual_clock ? manual_ns_.load() : Clock(CLOCK_MONOTONIC) - base_ns_; }

std::uint64_t Node::WallMicros(std::int64_t t) const {
  std::int64_t wall = wall_base_ns_ + t;
  for (const WallStep& step : wall_steps_) wall += step.at < t ? step.ns : 0;
  return static_cast<std::uint64_t>(wall / 1000);
}

nvml::Return Node::Init() {
  LoadFromEnvironment();
  initialised = true;
  ++generation_;
  const std::int64_t now = Now();
  for (const Reorder& reorder : script.orders) {
    if (reorder.at <= now) order_ = reorder.order;
  }
  return nvml::kSuccess;
}

nvml::Return Node::Shutdown() {
  if (!initialised) return nvml::kUninitialized;
  initialised = false;
  return nvml::kSuccess;
}

// A reloaded driver has forgotten whoever had initialised it, and its counters begin anew.
void Node::Reload() {
  const std::int64_t now = Now();
  while (reloads_done_ < script.reloads.size() && script.reloads[reloads_done_] <= now) {
    for (Gpu& gpu : gpus_) gpu.board->ReloadDriver(script.reloads[reloads_done_]);
    ++reloads_done_;
    initialised = false;
  }
}

// One handle a device and initialisation, as the real library gives.
nvml::Device Node::HandleOf(int gpu, Board& board, bool instance) {
  for (const auto& handle : handles_) {
    if (handle->generation == generation_ && handle->board == &board) {
      return reinterpret_cast<nvml::Device>(handle.get());
    }
  }
  handles_.push_back(std::make_unique<Handle>(Handle{generation_, gpu, &board, instance}));
  return reinterpret_cast<nvml::Device>(handles_.back().get());
}

nvml::Return Node::HandleAt(std::uint32_t index, nvml::Device* out) {
  if (index >= order_.size()) return nvml::kInvalidArgument;
  const int gpu = order_[index];
  if (gpus_[static_cast<std::size_t>(gpu)].board->activity().Lost(Now())) return nvml::kGpuIsLost;
  *out = HandleOf(gpu, *gpus_[static_cast<std::size_t>(gpu)].board, false);
  return nvml::kSuccess;
}

nvml::Return Node::InstanceAt(nvml::Device board, std::uint32_t index, nvml::Device* out) {
  const Handle* const parent = Find(board);
  auto& instances = gpus_[static_cast<std::size_t>(parent->gpu)].instances;
  if (index >= instances.size()) return nvml::kNotFound;
  if (instances[index]->facts().hidden) return nvml::kNoPermission;
  *out = HandleOf(parent->gpu, *instances[index], true);
  return nvml::kSuccess;
}

Handle* Node::Find(nvml::Device device) {
  auto* const handle = reinterpret_cast<Handle*>(device);
  const auto owned = std::find_if(handles_.begin(), handles_.end(), [&](const auto& h) { return h.get() == handle; });
  if (owned == handles_.end()) return nullptr;
  if (handle->generation == generation_) return handle;
  ++counts.stale_handles;
  return nullptr;
}

namespace {

// Needs more stack than there is.
int Deeper(volatile int* above) {
  volatile int here[1024] = {*above + 1};
  return here[0] > 1'000'000 ? 0 : Deeper(here) + here[1];
}

// The sanitizers are to let it happen.
__attribute__((no_sanitize("undefined"))) void Crash(const std::string& how) {
  volatile int zero = 0;
  if (how == "abort") std::abort();
  if (how == "throw") throw 1;  // which nobody catches
  if (how == "overflow") Deeper(&zero);
  *reinterpret_cast<volatile int*>(zero) = 1;
}

}  // namespace

nvml::Return Node::Trouble(const char* function, const Handle* handle) {
  std::int64_t hang_until = -1;
  {
    const std::lock_guard lock(mutex);
    Reload();
    const std::int64_t now = Now();
    for (Fault& fault : script.faults) {
      const bool hit = fault.function == function && now >= fault.from && now < fault.until && fault.times > 0 &&
                       (fault.gpu < 0 || (handle != nullptr && handle->gpu == fault.gpu));
      if (!hit) continue;
      --fault.times;
      if (!fault.crash.empty()) Crash(fault.crash);
      if (fault.hang) hang_until = fault.until;
      if (fault.hang) ++counts.hanging;
      if (fault.delay_ns > 0 && script.manual_clock) manual_ns_ += fault.delay_ns;
      if (fault.delay_ns > 0 && !script.manual_clock) usleep(static_cast<useconds_t>(fault.delay_ns / 1000));
      if (fault.code != 0) return fault.code;
    }
  }
  if (hang_until < 0) return nvml::kSuccess;
  while (Now() < hang_until && !released) usleep(1000);
  const std::lock_guard lock(mutex);
  --counts.hanging;
  return nvml::kSuccess;
}

Xid* Node::NextXid() {
  for (Xid& xid : script.xids) {
    if (!xid.told && xid.at <= Now()) {
      xid.told = true;
      return &xid;
    }
  }
  return nullptr;
}

}  // namespace idleburn::standin
