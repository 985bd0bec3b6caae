#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "base/result.h"
#include "measure/lane.h"
#include "measure/live_gpus.h"
#include "measure/nvml_gpu.h"
#include "measure/nvml_library.h"
#include "os/run_clock.h"
#include "telemetry/device.h"
#include "telemetry/live_sink.h"

namespace idleburn {

// A board to be described.
struct BoardHandle {
  nvml::Device handle = nullptr;
  std::string uuid;
  std::string index;  // "0"
};

// What boards are and how they hang together, as facts: "cuda", of each "gpu.UUID.vbios", the generation and width of
// its PCIe link as it is and at most, its NVLinks that are up, and "gpu.topology" of their pairs. What a driver does
// not tell is left out.
std::vector<RunFact> DescribeBoards(NvmlLibrary& nvml, const std::vector<BoardHandle>& boards);

// The GPUs of the NVIDIA driver.
//
//   every tick  power, energy, SM clock, clock-event reasons; utilization where the driver keeps no ring of it
//   200 ms      the ring of utilizations; activity of SMs, tensor cores and memory (GPM)
//   1 s         memory, temperature, what the links moved, Xid events
//   5 s         processes; of one GPU a tick, where there are no more than twenty
//   60 s        limits, memory errors, whether each handle still is the GPU it was
//
// Calls that are slow make it slow down: when what is asked at every tick takes over 20 ms more than once in a hundred
// ticks, the period doubles, up to a second; after a hundred ticks that are quick enough it is halved again. A note
// says so the first time. A GPU that the driver calls lost is unobserved; the library is initialised anew after
// 10 s, then at ever longer distances up to 5 min, until all GPUs have answered for a minute; they are known again by
// their UUID.
class NvmlLane : public Lane {
 public:
  // Initialises the library and lists the GPUs; fails with one line if there is nothing to measure. `devices` outlives
  // the lane and is changed, by way of the sink, now and while it ticks. `period` is that of the ticks. *said: the code
  // that ended it.
  static Result<std::unique_ptr<NvmlLane>> Open(std::shared_ptr<NvmlLibrary> nvml, Nanos period, DeviceTable& devices,
                                                LiveSink& out, std::shared_ptr<RunClock> clock, const TimeLine& line,
                                                nvml::Return* said = nullptr);
  ~NvmlLane() override;

  void Tick(Instant now, LiveSink& out) override;
  void Finish(Instant now, LiveSink& out) override;
  [[nodiscard]] std::string Pending() const override;
  void PushStale(Instant now, LiveSink& out) override;
  void Abandon() override { nvml_->Abandon(); }
  [[nodiscard]] std::vector<CallTimes> Calls() const override;

  // Those that were listed when it was opened; not while it ticks.
  [[nodiscard]] std::vector<MeasuredGpu> Measured() const;

 private:
  NvmlLane(std::shared_ptr<NvmlLibrary> nvml, Nanos period, DeviceTable& devices, std::shared_ptr<RunClock> clock,
           const TimeLine& line);

  void Shutdown();
  // Initialises the library and lists the GPUs.
  nvml::Return Initialise(LiveSink& out);
  nvml::Return Enumerate(LiveSink& out);
  nvml::Return EnterBoard(std::uint32_t index, LiveSink& out);
  // Whether `board` has any; notes in it whether the driver hides some.
  bool EnterInstances(const DeviceKey& key, NvmlGpu::Place& board, LiveSink& out);
  MigInstance DescribeInstance(const NvmlGpu::Place& place);
  void EnterGpu(NvmlGpu::Place place, const DeviceKey& key, LiveSink& out);
  void OpenEvents();
  void CloseEvents();
  std::string Text(NvmlFunction<char*, std::uint32_t>& function);
  std::string Text(NvmlFunction<nvml::Device, char*, std::uint32_t>& function, nvml::Device device);

  void TellFirst(Instant now, LiveSink& out);
  // Returns what the calls of every tick took.
  Nanos ReadAll(const NvmlGpu::Moment& moment, bool medium);
  void ReadEvents(LiveSink& out, Instant now);
  void WatchWall(const ClockReading& read);
  void WatchBudget(Nanos fast, Instant now, LiveSink& out);
  // The next GPU whose processes may be listed, in turn: lists take milliseconds, and shall not add up. Null: none.
  NvmlGpu* NextToList(Instant now);
  void TellRemarks(NvmlGpu& gpu, Instant now, LiveSink& out);
  void TellLost(const NvmlGpu& gpu, Instant now, LiveSink& out);
  void TryAgain(Instant now, LiveSink& out);
  void PassOn(const NvmlGpu::Moment& moment, LiveSink& out);
  // Pushes what is complete, and tells what is held.
  void Push(LiveSink& out);

  std::shared_ptr<NvmlLibrary> nvml_;
  DeviceTable& devices_;
  std::shared_ptr<RunClock> clock_;
  TimeLine line_;
  std::string nvml_version_;
  std::string driver_version_;
  std::vector<std::unique_ptr<NvmlGpu>> gpus_;
  std::map<DeviceId, std::size_t> by_id_;  // of gpus_
  std::vector<std::size_t> attached_;      // gpus_ found by the last enumeration
  std::vector<BoardHandle> boards_;        // likewise, instances of one board once
  std::vector<RunFact> failed_;            // GPUs that the first enumeration could not open
  nvml::EventSet events_ = nullptr;
  bool initialised_ = false;
  bool told_ = false;

  Nanos period_;
  int stride_ = 1;  // every which tick is served
  std::int64_t ticks_ = 0;
  Every ring_{Nanos(200'000'000)};
  Every gpm_{Nanos(200'000'000)};
  Every medium_{Nanos(kNanosPerSecond)};
  Every rare_{Nanos(60 * kNanosPerSecond)};
  Every unread_{Nanos(kNanosPerSecond)};
  std::size_t next_to_list_ = 0;  // of attached_
  int passes_ = 0;
  int slow_passes_ = 0;
  bool slow_told_ = false;

  std::vector<bool> lost_told_;                       // of gpus_
  Instant again_at_ = Instant::FromNanos(INT64_MAX);  // when the library is initialised anew
  Nanos backoff_;
  std::optional<Instant> whole_since_;  // when all were found again, while the backoff is not what it was at first
  bool gone_ = false;                   // the library could not be initialised anew
  bool mismatch_ = false;               // nor may it be

  std::optional<std::int64_t> wall_offset_;  // wall clock less monotonic
  std::vector<Sample> out_;
  std::vector<Sample> held_;

  std::mutex stale_mutex_;     // of what follows; held while readings are pushed, so that none follows a later stale
  std::vector<Sample> stale_;  // what PushStale says of each device
  Instant stale_until_ = Instant::FromNanos(INT64_MIN);
};

}  // namespace idleburn
