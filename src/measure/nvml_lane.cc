#include "measure/nvml_lane.h"

#include <algorithm>
#include <cstdlib>
#include <utility>

#include "measure/nvml_library.h"
#include "measure/proc_files.h"

namespace idleburn {
namespace {

// When the lane slows down, and when it tries a lost GPU again; see the class.
constexpr Nanos kSlowPass(20'000'000);
constexpr Nanos kLongestPeriod(kNanosPerSecond);
constexpr int kWarmUpPasses = 10;  // the first calls after loading a driver's library are slow
constexpr int kPassesJudged = 100;
constexpr std::size_t kTicksOfLists = 20;  // a list of each GPU is had in so many ticks
constexpr Nanos kFirstBackoff(10 * kNanosPerSecond);
constexpr Nanos kLongestBackoff(300 * kNanosPerSecond);
constexpr Nanos kHealed(60 * kNanosPerSecond);
// A difference of the wall clock from the monotonic clock that counts as a step.
constexpr std::int64_t kWallStep = 100'000'000;

}  // namespace

NvmlLane::NvmlLane(std::shared_ptr<NvmlLibrary> nvml, Nanos period, DeviceTable& devices,
                   std::shared_ptr<RunClock> clock, const TimeLine& line)
    : nvml_(std::move(nvml)),
      devices_(devices),
      clock_(std::move(clock)),
      line_(line),
      period_(period),
      backoff_(kFirstBackoff) {}

// A GPU that fails alone does not fail the lane. It becomes a fact, and the others are measured.
Result<std::unique_ptr<NvmlLane>> NvmlLane::Open(std::shared_ptr<NvmlLibrary> nvml, Nanos period, DeviceTable& devices,
                                                 LiveSink& out, std::shared_ptr<RunClock> clock, const TimeLine& line,
                                                 nvml::Return* said) {
  nvml::Return ignored = nvml::kSuccess;
  nvml::Return& code = said != nullptr ? *said : ignored;
  std::unique_ptr<NvmlLane> lane(new NvmlLane(std::move(nvml), period, devices, std::move(clock), line));
  code = lane->Initialise(out);
  if (code != nvml::kSuccess && !lane->initialised_) {
    return Fail("no NVIDIA GPU can be measured: " + NvmlSentence(code));
  }
  if (code != nvml::kSuccess) return Fail("idleburn cannot list the NVIDIA GPUs: " + NvmlSentence(code));
  if (lane->gpus_.empty() && !lane->failed_.empty()) {
    return Fail("no NVIDIA GPU can be measured: " + lane->failed_.front().value);
  }
  if (lane->gpus_.empty()) return Fail("the NVIDIA driver lists no GPU: see nvidia-smi -L");
  return lane;
}

NvmlLane::~NvmlLane() { Shutdown(); }

// Releases what hangs on the library before the library itself. Handles are invalid afterwards.
void NvmlLane::Shutdown() {
  if (!initialised_) return;
  initialised_ = false;
  CloseEvents();
  for (const auto& gpu : gpus_) gpu->Detach();
  nvml_->Call(nvml_->shutdown);
}

// The readings come first, then what they revealed: remarks, lost GPUs, a slow driver. The next initialisation comes
// last, because it changes the list of GPUs.
void NvmlLane::Tick(Instant now, LiveSink& out) {
  // A lane that slowed down skips ticks. The sampler's own period stays, because other lanes may share it.
  if (ticks_++ % stride_ != 0) return;
  if (!told_) TellFirst(now, out);
  const NvmlGpu::Moment moment = {now, clock_->Read(), &line_};
  WatchWall(moment.read);
  const bool medium = medium_.Due(now);
  // A library that could not be initialised again must not be called.
  const std::optional<Nanos> fast = gone_ ? std::nullopt : std::optional(ReadAll(moment, medium));
  if (!gone_ && medium) ReadEvents(out, now);
  for (std::size_t i = 0; i < gpus_.size(); ++i) {
    TellRemarks(*gpus_[i], now, out);
    if (!gpus_[i]->lost() || lost_told_[i]) continue;
    lost_told_[i] = true;
    TellLost(*gpus_[i], now, out);
  }
  PassOn(moment, out);
  // A GPU that is lost again and again keeps its long interval. Only a minute without a loss resets it.
  if (whole_since_ && now - *whole_since_ >= kHealed) {
    backoff_ = kFirstBackoff;
    whole_since_.reset();
  }
  if (fast) WatchBudget(*fast, now, out);
  if (now >= again_at_) TryAgain(now, out);
}

// Passes on the rows of this tick. While a call hung, PushStale may have pushed later rows, so earlier ones are
// dropped.
void NvmlLane::PassOn(const NvmlGpu::Moment& moment, LiveSink& out) {
  const bool unread = unread_.Due(moment.now);
  const std::lock_guard lock(stale_mutex_);
  for (const std::unique_ptr<NvmlGpu>& gpu : gpus_) {
    gpu->Forbid(stale_until_);
    if (!gpu->lost() && !gone_) {
      gpu->EndRow(moment, out_);
    } else if (unread) {
      gpu->PassUnread(moment.now, Unobserved::kGap, out_);
    }
  }
  Push(out);
}

// Walks over the attached GPUs in a circle, from where the last tick stopped.
NvmlGpu* NvmlLane::NextToList(Instant now) {
  for (std::size_t tried = 0; tried < attached_.size(); ++tried) {
    NvmlGpu& gpu = *gpus_[attached_[next_to_list_++ % attached_.size()]];
    if (!gpu.lost() && gpu.ProcessesDue(now)) return &gpu;
  }
  return nullptr;
}

// Reads the quantities of all GPUs that are due. Only calls of every tick count as `fast`: power, energy, clocks, and
// the gauge. The ring is read between two of them, so their times are added around it.
Nanos NvmlLane::ReadAll(const NvmlGpu::Moment& moment, bool medium) {
  const bool ring = ring_.Due(moment.now);
  const bool gpm = gpm_.Due(moment.now);
  const bool rare = rare_.Due(moment.now);
  // Counts each call from the end of the one before. That halves the number of clock readings.
  const NvmlLibrary::Pass pass(*nvml_);
  Nanos fast(0);
  for (const std::size_t i : attached_) {
    NvmlGpu& gpu = *gpus_[i];
    if (gpu.lost()) continue;
    gpu.StartRow(moment);
    Nanos before = nvml_->spent();
    gpu.ReadFast(moment);
    fast += nvml_->spent() - before;
    if (ring) gpu.ReadRing(moment);
    before = nvml_->spent();
    gpu.ReadGauge(moment);
    fast += nvml_->spent() - before;
    if (gpm) gpu.ReadGpm();
    if (medium) gpu.ReadMedium(moment);
    if (rare) gpu.ReadRare();
  }
  // One list per tick for up to twenty GPUs, two for up to forty, and so on.
  for (std::size_t lists = 0; lists * kTicksOfLists < attached_.size(); ++lists) {
    NvmlGpu* const gpu = NextToList(moment.now);
    if (gpu == nullptr) break;
    gpu->ReadProcesses(moment);
  }
  return fast;
}

// Reads pending Xid events without waiting. The limit keeps a storm of events from blocking the tick.
void NvmlLane::ReadEvents(LiveSink& out, Instant now) {
  for (int i = 0; events_ != nullptr && i < 16; ++i) {
    nvml::EventData event{};
    if (nvml_->Call(nvml_->event_wait, events_, &event, std::uint32_t{0}) != nvml::kSuccess) return;
    if (event.type != nvml::kEventXid) continue;
    for (const std::unique_ptr<NvmlGpu>& gpu : gpus_) {
      if (gpu->place().handle != event.device) continue;
      gpu->SetXid(event.data);
      out.OnNote({now, NoteKind::kXid, gpu->place().label + ": Xid " + std::to_string(event.data) + "; see dmesg"});
    }
  }
}

// Tells the GPUs when the wall clock was set, because the driver stamps with it.
void NvmlLane::WatchWall(const ClockReading& read) {
  const std::int64_t offset = read.wall.nanos() - read.monotonic.count();
  if (wall_offset_ && std::abs(offset - *wall_offset_) > kWallStep) {
    for (const std::unique_ptr<NvmlGpu>& gpu : gpus_) gpu->MoveWall(Nanos(offset - *wall_offset_), read.wall);
  }
  wall_offset_ = offset;
}

// Slows the lane down if the calls of every tick are slow. Slower parts do not count: they have their own periods, and
// asking less often does not speed up a call.
void NvmlLane::WatchBudget(Nanos fast, Instant now, LiveSink& out) {
  // The first passes are slow on every driver and prove nothing.
  if (++passes_ <= kWarmUpPasses) return;
  slow_passes_ += fast > kSlowPass ? 1 : 0;
  // Slows down as soon as two passes were slow. Speeds up only after all passes were judged.
  const bool slow = slow_passes_ > 1;
  if (!slow && passes_ < kWarmUpPasses + kPassesJudged) return;
  const auto longest = static_cast<int>(std::max<std::int64_t>(1, kLongestPeriod / period_));
  stride_ = slow ? std::min(2 * stride_, longest) : std::max(stride_ / 2, 1);
  passes_ = slow ? 0 : kWarmUpPasses;
  slow_passes_ = 0;
  // Notes the first change only. A period that moves up and down would otherwise fill the log.
  if (!slow || slow_told_ || stride_ == 1) return;
  slow_told_ = true;
  const auto ms = [](Nanos span) { return std::to_string(span.count() / 1'000'000) + " ms"; };
  out.OnNote({now, NoteKind::kSlowDriver,
              "the NVIDIA driver took " + ms(fast) +
                  " to read power, energy and clocks of all GPUs: while it is this slow, idleburn reads them every " +
                  ms(period_ * stride_) + ", or up to every " + ms(period_ * longest)});
}

// Pushes the facts about driver, boards and topology at the first tick. DescribeBoards makes many calls.
void NvmlLane::TellFirst(Instant now, LiveSink& out) {
  told_ = true;
  out.OnFact({"driver", driver_version_});
  out.OnFact({"nvml", nvml_version_});
  for (const RunFact& fact : DescribeBoards(*nvml_, boards_)) out.OnFact(fact);
  for (const RunFact& fact : failed_) {
    out.OnFact(fact);
    out.OnNote({now, NoteKind::kDeviceLost, fact.value + "; it is not measured, and its cost is not in the figures"});
  }
  for (const std::unique_ptr<NvmlGpu>& gpu : gpus_) TellRemarks(*gpu, now, out);
}

// Pushes what a GPU has to say. A signal that was read for the first time also belongs into later stale rows.
void NvmlLane::TellRemarks(NvmlGpu& gpu, Instant now, LiveSink& out) {
  for (auto& [kind, text] : gpu.TakeRemarks()) out.OnNote({now, kind, std::move(text)});
  for (const RunFact& fact : gpu.TakeFacts()) out.OnFact(fact);
  if (std::optional<GpuHolders> holders = gpu.TakeHolders()) {
    for (GpuHolder& holder : holders->holders) holder.start_ticks = StartTicksOf("/proc", holder.pid);
    out.OnHolders(*holders);
  }
  const auto names = gpu.TakeCounterNames();
  if (names.empty()) return;
  out.ChangeDevices([&] {
    for (const auto& [signal, counter] : names) devices_.NameCounter(gpu.place().id, signal, counter);
  });
  const std::lock_guard lock(stale_mutex_);
  stale_.clear();
  for (const auto& each : gpus_) stale_.push_back(each->Unread(now, Unobserved::kStale));
}

// Notes a lost GPU and schedules the next initialisation.
void NvmlLane::TellLost(const NvmlGpu& gpu, Instant now, LiveSink& out) {
  mismatch_ = mismatch_ || gpu.lost_code() == nvml::kLibRmVersionMismatch;
  out.OnNote(
      {now, NoteKind::kDeviceLost,
       gpu.place().label + " (" + gpu.place().uuid + "): " + gpu.lost_in() + ": " + NvmlSentence(gpu.lost_code())});
  again_at_ = std::min(again_at_, now + backoff_);
  whole_since_.reset();
}

// Initialises the library again. GPUs that still answer are read until now, so that they lose nothing.
void NvmlLane::TryAgain(Instant now, LiveSink& out) {
  if (mismatch_) {
    again_at_ = Instant::FromNanos(INT64_MAX);
    return;
  }
  Shutdown();
  const nvml::Return code = Initialise(out);
  if (code != nvml::kSuccess && !gone_) {
    out.OnNote({now, NoteKind::kFailure, "idleburn cannot initialise NVML again: " + NvmlSentence(code)});
  }
  gone_ = code != nvml::kSuccess;
  mismatch_ = code == nvml::kLibRmVersionMismatch;
  bool all = !gone_;
  for (std::size_t i = 0; i < gpus_.size(); ++i) {
    NvmlGpu& gpu = *gpus_[i];
    if (!gone_ && std::find(attached_.begin(), attached_.end(), i) == attached_.end()) gpu.SetMissing();
    all = all && !gpu.lost();
    if (gone_ || gpu.lost() || !lost_told_[i]) continue;
    lost_told_[i] = false;
    out.OnNote({now, NoteKind::kDeviceFound, gpu.place().label + " (" + gpu.place().uuid + ") answers again"});
  }
  backoff_ = std::min(backoff_ * 2, kLongestBackoff);
  again_at_ = all ? Instant::FromNanos(INT64_MAX) : now + backoff_;
  if (all) whole_since_ = now;
}

// The sink also sees what is held back. A recording writes held rows too, so a kill loses none of them.
void NvmlLane::Push(LiveSink& out) {
  if (!out_.empty()) out.OnSamples(out_);
  out_.clear();
  held_.clear();
  for (const auto& gpu : gpus_) held_.insert(held_.end(), gpu->held().begin(), gpu->held().end());
  out.OnHeld(held_);
}

// Reads the rings once more, because they hold utilization of the last part of a run. Then all held rows go out.
void NvmlLane::Finish(Instant now, LiveSink& out) {
  const NvmlGpu::Moment moment = {now, clock_->Read(), &line_};
  for (const std::unique_ptr<NvmlGpu>& gpu : gpus_) {
    if (!gone_ && !gpu->lost()) gpu->ReadRing(moment);
    TellRemarks(*gpu, now, out);
  }
  {
    const std::lock_guard lock(stale_mutex_);
    for (const std::unique_ptr<NvmlGpu>& gpu : gpus_) {
      gpu->Forbid(stale_until_);
      gpu->Flush(out_);
    }
    Push(out);
  }
  Shutdown();
}

std::string NvmlLane::Pending() const {
  const char* const function = nvml_->Pending();
  return function != nullptr ? function : "";
}

// The watching thread calls this while a driver call hangs in Tick. So it touches only what stale_mutex_ guards.
void NvmlLane::PushStale(Instant now, LiveSink& out) {
  const std::lock_guard lock(stale_mutex_);
  stale_until_ = now;
  for (Sample& sample : stale_) sample.time = now;
  if (!stale_.empty()) out.OnSamples(stale_);
}

std::vector<CallTimes> NvmlLane::Calls() const {
  std::vector<CallTimes> calls;
  nvml_->VisitTimes([&](const NvmlEntry& entry) {
    const Spread& t = entry.times;
    calls.push_back({entry.name, t.count(), t.Quantile(0.5), t.Quantile(0.99), t.max(), t.total()});
  });
  return calls;
}

}  // namespace idleburn
