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

// A board for DescribeBoards. MIG instances have no link and no topology of their own.
struct BoardHandle {
  nvml::Device handle = nullptr;
  std::string uuid;
  std::string index;  // "0"
};

// Describes boards and their connections as facts: "cuda"; for each board "gpu.UUID.vbios", its PCIe link (generation
// and width, present and maximum) and the NVLinks that are up; "gpu.topology" for their pairs. A fact that the driver
// does not tell is left out. It calls the driver often, so NvmlLane asks for it only once.
std::vector<RunFact> DescribeBoards(NvmlLibrary& nvml, const std::vector<BoardHandle>& boards);

// The GPUs of the NVIDIA driver (docs/measuring.md, "NVIDIA").
//
//   every tick  power, energy, SM clock, clock-event reasons; utilization if the driver has no ring of it
//   200 ms      the ring of utilizations; activity of SMs, tensor cores and memory (GPM)
//   1 s         memory, temperature, traffic of the links, Xid events
//   5 s         processes; one GPU per tick, with up to twenty GPUs
//   60 s        limits, memory errors, whether each handle is still the same GPU
//
// A slow driver makes the lane slow down. If the calls of every tick take over 20 ms in more than one of a hundred
// ticks, the period doubles, up to one second. After a hundred quick ticks it halves again. The first change is
// noted. Sampling at a fixed rate was no choice: NVML calls take locks in the driver that the workload's own calls
// need too.
//
// A GPU that the driver calls lost is unobserved. The lane initialises the library again after 10 s, then at growing
// intervals up to 5 min, until all GPUs have answered for a minute. It recognises GPUs by their UUID, because their
// indices may change.
class NvmlLane : public Lane {
 public:
  // Initialises the library and lists the GPUs. Fails if there is nothing to measure; *said is the code that ended
  // it. It may hang in the driver, so measure/live_gpus.h calls it on a thread of its own.
  //
  // `devices` must outlive the lane. The lane changes it through the sink, now and while it ticks. `period` is the
  // time between ticks. Notes have times of `line`.
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

  // The GPUs that were listed when it was opened. Not while it ticks.
  [[nodiscard]] std::vector<MeasuredGpu> Measured() const;

 private:
  NvmlLane(std::shared_ptr<NvmlLibrary> nvml, Nanos period, DeviceTable& devices, std::shared_ptr<RunClock> clock,
           const TimeLine& line);

  void Shutdown();
  // Initialises the library and lists the GPUs, at the start and after each Shutdown. GPUs of earlier lists keep
  // their places in gpus_.
  nvml::Return Initialise(LiveSink& out);
  // Lists the boards and their instances anew.
  nvml::Return Enumerate(LiveSink& out);
  // Enters the board with that index, and its instances.
  nvml::Return EnterBoard(std::uint32_t index, LiveSink& out);
  // Enters the MIG instances of `board`; whether it has any. Records in `board` whether the driver hides some.
  bool EnterInstances(const DeviceKey& key, NvmlGpu::Place& board, LiveSink& out);
  // The id, profile ("1g.10gb") and compute slices of an instance.
  MigInstance DescribeInstance(const NvmlGpu::Place& place);
  // Enters a device, or attaches it to its NvmlGpu if an earlier list had it.
  void EnterGpu(NvmlGpu::Place place, const DeviceKey& key, LiveSink& out);
  // Registers for Xid events of all boards. A driver without events measures everything else.
  void OpenEvents();
  void CloseEvents();
  // A text of the driver: of the system, or of one device. Empty if the driver does not tell it.
  std::string Text(NvmlFunction<char*, std::uint32_t>& function);
  std::string Text(NvmlFunction<nvml::Device, char*, std::uint32_t>& function, nvml::Device device);

  void TellFirst(Instant now, LiveSink& out);
  // Reads all GPUs. Returns how long the calls of every tick took.
  Nanos ReadAll(const NvmlGpu::Moment& moment, bool medium);
  void ReadEvents(LiveSink& out, Instant now);
  void WatchWall(const ClockReading& read);
  void WatchBudget(Nanos fast, Instant now, LiveSink& out);
  // The next GPU whose processes are listed, in turn, or null. Lists take milliseconds and must not add up in one tick.
  NvmlGpu* NextToList(Instant now);
  void TellRemarks(NvmlGpu& gpu, Instant now, LiveSink& out);
  void TellLost(const NvmlGpu& gpu, Instant now, LiveSink& out);
  void TryAgain(Instant now, LiveSink& out);
  void PassOn(const NvmlGpu::Moment& moment, LiveSink& out);
  // Pushes complete rows, and shows the sink what is held.
  void Push(LiveSink& out);

  std::shared_ptr<NvmlLibrary> nvml_;
  DeviceTable& devices_;
  std::shared_ptr<RunClock> clock_;
  TimeLine line_;
  std::string nvml_version_;
  std::string driver_version_;
  std::vector<std::unique_ptr<NvmlGpu>> gpus_;
  std::map<DeviceId, std::size_t> by_id_;  // of gpus_
  std::vector<std::size_t> attached_;      // indices of gpus_ that the last enumeration found
  std::vector<BoardHandle> boards_;        // found by the last enumeration; instances of one board once
  std::vector<RunFact> failed_;            // facts about GPUs that the first enumeration could not open
  nvml::EventSet events_ = nullptr;
  bool initialised_ = false;
  bool told_ = false;

  Nanos period_;
  int stride_ = 1;  // serves one of so many ticks
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
  Instant again_at_ = Instant::FromNanos(INT64_MAX);  // when to initialise the library again
  Nanos backoff_;
  std::optional<Instant> whole_since_;  // since when all GPUs answer again, while backoff_ is raised
  bool gone_ = false;                   // the library could not be initialised again
  bool mismatch_ = false;               // the driver was replaced, so the library must not be initialised again

  std::optional<std::int64_t> wall_offset_;  // wall clock minus monotonic clock
  std::vector<Sample> out_;
  std::vector<Sample> held_;

  std::mutex stale_mutex_;  // guards the next two; held while readings are pushed, so that none comes after a stale row
  std::vector<Sample> stale_;  // the rows that PushStale pushes, one for each device
  Instant stale_until_ = Instant::FromNanos(INT64_MIN);
};

}  // namespace idleburn
