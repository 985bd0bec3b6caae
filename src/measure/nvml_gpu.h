#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "measure/lane.h"
#include "measure/nvml_abi.h"
#include "measure/nvml_library.h"
#include "measure/nvml_readings.h"
#include "telemetry/live_sink.h"
#include "telemetry/sample.h"

namespace idleburn {

// One NVIDIA GPU or MIG instance: what it is asked, when, and what its answers mean. docs/measuring.md describes each
// quantity and its fallbacks. NvmlLane owns the devices and decides which parts are due at a tick.

// A buffer for the driver's list of processes. Drivers 535.43 to 535.86 write records of 32 bytes where the interface
// says 24. So the buffer has room for the longer records, and their length follows from how far the driver wrote.
class ProcessRoom {
 public:
  // Room for `entries` records of either length, filled with a pattern that no driver writes.
  explicit ProcessRoom(std::uint32_t entries);

  // The address for one call of GetComputeRunningProcesses or a similar function, versions 2 and 3.
  [[nodiscard]] nvml::ProcessInfo* Address() { return reinterpret_cast<nvml::ProcessInfo*>(words_.data()); }
  // The `count` records that the driver wrote. Absent if they have no known length.
  [[nodiscard]] std::optional<std::vector<nvml::ProcessInfo>> Read(std::uint32_t count) const;

 private:
  std::uint32_t entries_;
  std::vector<std::uint64_t> words_;
};

// What a device is asked. Each query fails on its own. A query that the driver or GPU does not support is not
// repeated. A quantity with a fallback has two queries: kPowerUsage is asked where kPowerInstant gives nothing.
enum class NvmlQuery : std::uint8_t {
  kSamples,
  kRates,
  kPowerInstant,
  kPowerUsage,
  kEnergy,
  kEnergyField,
  kClock,
  kReasons,
  kMemoryV2,
  kMemory,
  kTemperature,
  kTemperatureV1,
  kPcie,
  kNvlink,
  kNvlink5,
  kSlowdowns,
  kPowerLimit,
  kDefaultLimit,
  kDefaultLimitField,
  kMaxClock,
  kEcc,
  kProcesses,
  kProcessesV1,
  kMpsProcesses,
  kDrawingProcesses,
  kGpm,
};
inline constexpr std::size_t kNvmlQueryCount = 26;

// One GPU or MIG instance, and what was read of it since the library was initialised.
//
// At each tick the lane calls StartRow, the parts that are due, and EndRow. The parts write into one row, the Sample
// of this tick. Utilization from the ring has times of its own, and becomes rows of its own.
//
// The object survives a shutdown of the library: Attach gives it new handles and keeps its history. So a GPU that was
// lost and found is one device, and its energy counter continues.
class NvmlGpu {
 public:
  // Where the driver lists it.
  struct Place {
    nvml::Device handle = nullptr;
    nvml::Device board = nullptr;           // the board of an instance; otherwise the same as `handle`
    std::optional<std::uint32_t> instance;  // GPU instance id
    // The other compute instances of a GPU instance. Any of them tells its activity. The processes of all hold it.
    std::vector<nvml::Device> beside;
    bool has_instances = false;  // only power, clocks and the like are read; the instances have the rest
    DeviceId id = 0;
    std::string uuid;
    std::vector<std::string> uuids_beside;  // UUIDs of `beside`
    bool in_part = false;                   // the driver hides some instances of this board from this process
    std::string label;                      // "GPU 0", "GPU 0 instance 3", for notes

    // The handles of all its compute instances.
    [[nodiscard]] std::vector<nvml::Device> Handles() const {
      std::vector<nvml::Device> all = {handle};
      all.insert(all.end(), beside.begin(), beside.end());
      return all;
    }
  };
  // The time of a tick: on the run's time line and by the clocks.
  struct Moment {
    Instant now;
    ClockReading read;
    const TimeLine* line;
  };

  // `nvml` must outlive the GPU. `wall_us` is the wall clock now, in us: utilization published before does not count.
  NvmlGpu(NvmlLibrary& nvml, Place place, const std::string& nvml_version, std::int64_t wall_us);

  // The library was initialised again. What it supported before no longer counts.
  void Attach(Place place);
  // The library is about to be shut down. Buffers of GPM belong to it and must be freed before.
  void Detach() { gpm_.reset(); }
  // The driver was loaded just before `now`. It reports too much utilization for one second and one window, so that
  // time is unobserved.
  void DistrustUntilSettled(Instant now);
  // The library was initialised again and does not list this GPU.
  void SetMissing() {
    lost_ = nvml::kGpuIsLost;
    lost_in_ = nvml_.handle_by_index.name;
  }

  // The parts of a tick. Each adds signals to the row of this tick.
  //
  // Empties the row.
  void StartRow(const Moment& moment);
  // Power, energy, clock, clock-event reasons: every tick.
  void ReadFast(const Moment& moment);
  // Utilization: from the driver's ring, or from a gauge if there is no ring. Call both after ReadFast, whose energy
  // counter shows that the driver was loaded again.
  void ReadRing(const Moment& moment);
  void ReadGauge(const Moment& moment);
  // Activity of SMs, tensor cores and memory, and traffic of the links where GPM gives it.
  void ReadGpm();
  // Memory, temperature, links.
  void ReadMedium(const Moment& moment);
  // Whether the list of processes is due. Lists are expensive, so every 5 s at most.
  bool ProcessesDue(Instant now) { return processes_due_.Due(now); }
  // Who holds the GPU. Sets the number of processes, and what TakeHolders returns.
  void ReadProcesses(const Moment& moment);
  // Limits and memory errors. Also checks whether the handle still means this GPU, and lifts the rest of failed
  // queries.
  void ReadRare();
  // Sets the Xid of an event that came in this tick.
  void SetXid(std::uint64_t code) { row_.Set(Signal::kXid, static_cast<std::int64_t>(code)); }
  // Holds the row and moves complete rows to `out`. A row is complete when no earlier reading of the ring can follow.
  void EndRow(const Moment& moment, std::vector<Sample>& out);
  // Moves all held rows to `out`.
  void Flush(std::vector<Sample>& out) { held_.Release(Instant::FromNanos(INT64_MAX), out); }
  // Moves all held rows to `out`, and a row that says that nothing can be read now.
  void PassUnread(Instant now, Unobserved why, std::vector<Sample>& out);

  // A row in which all signals that were ever read are unobserved.
  [[nodiscard]] Sample Unread(Instant now, Unobserved why) const;
  // Drops held rows up to `time`, because a stale row was pushed then.
  void Forbid(Instant time) { held_.Forbid(time); }
  [[nodiscard]] const std::vector<Sample>& held() const { return held_.held(); }
  // The wall clock was set by `step`. It is `wall` now.
  void MoveWall(Nanos step, Instant wall) { ring_.MoveWall(step, wall.nanos() / 1000); }

  [[nodiscard]] const Place& place() const { return place_; }
  // Whether the driver called it lost, with which code, in which function.
  [[nodiscard]] bool lost() const { return lost_ != nvml::kSuccess; }
  [[nodiscard]] nvml::Return lost_code() const { return lost_; }
  [[nodiscard]] const char* lost_in() const { return lost_in_; }
  // What the lane passes on after a tick: counters that were read for the first time, remarks, and facts.
  std::vector<std::pair<Signal, const char*>> TakeCounterNames() { return std::exchange(names_, {}); }
  std::vector<std::pair<NoteKind, std::string>> TakeRemarks() { return std::exchange(remarks_, {}); }
  std::vector<RunFact> TakeFacts() { return std::exchange(facts_, {}); }
  // Who holds the GPU, if that was read since the last call. Start times are not set.
  std::optional<GpuHolders> TakeHolders() { return std::exchange(holders_, std::nullopt); }

 private:
  // Asks the driver, unless the query is off or the GPU is lost. True if there is a value.
  template <typename... Parameters, typename... Arguments>
  bool Ask(NvmlQuery query, NvmlFunction<Parameters...>& function, Arguments... arguments) {
    if (off_[static_cast<std::size_t>(query)] || lost()) return false;
    return Heard(query, function.name, nvml_.Call(function, place_.handle, arguments...));
  }
  bool AskField(NvmlQuery query, std::uint32_t field, std::uint32_t scope, nvml::FieldValue* out);
  // Acts on a return code: it may switch off the query or declare the GPU lost. True if the query gave a value.
  bool Heard(NvmlQuery query, const char* function, nvml::Return code);
  void HeardUnknown(NvmlQuery query, const char* function);
  [[nodiscard]] bool BaseFails();
  void AskRestingAgain();
  [[nodiscard]] bool Off(NvmlQuery query) const { return off_[static_cast<std::size_t>(query)].has_value(); }
  // Sets a signal in the row, read from that counter.
  void Put(Signal signal, std::int64_t value, const char* counter);
  // Marks a signal as unobserved, because that query failed.
  void Miss(Signal signal, NvmlQuery query);
  void PutPercent(Signal signal, const std::optional<double>& percent, const char* counter);

  void TakeRing(const Moment& moment);
  // Whether the ring gave nothing for so long that the gauge must stand in.
  [[nodiscard]] bool RingIsDry(Instant now) const;
  void ReadRates(const Moment& moment);
  void ReadPower();
  void ReadEnergy(const Moment& moment);
  void ReadMemory();
  // Doubts the last list of processes if memory changed a lot since then.
  void DoubtHolders();
  // Whether memory shows a process that the empty list leaves out.
  bool IsHeldUnlisted();
  // Marks the number of processes as unobserved in this row. `why` is the reason, unless the row has another one.
  void MissHolders(Unobserved why);
  void ReadTemperature();
  void ReadLinks(const Moment& moment);
  void ReadSlowdowns(const Moment& moment);
  // The rate of a counter of link traffic in bytes per second; the counter is in units of `unit` bytes. Absent until
  // there are two readings.
  std::optional<std::int64_t> Link(NvmlQuery query, std::uint32_t field, std::uint32_t scope, CounterRate& rate,
                                   Instant at, std::int64_t unit);
  void PlaceReading(const UtilizationRing::Reading& reading, const Moment& moment);
  // Tells the window of utilization, once it is known.
  void Settled(Nanos window, bool estimated);
  bool ListProcesses(NvmlQuery query, NvmlFunction<nvml::Device, std::uint32_t*, nvml::ProcessInfo*>& function,
                     std::vector<GpuHolder>& holders);
  bool ListProcessesV1(std::vector<GpuHolder>& holders);

  NvmlLibrary& nvml_;
  Place place_;
  // Why a query is no longer asked. kGap: it fails for unknown reasons and rests for up to a minute.
  std::array<std::optional<Unobserved>, kNvmlQueryCount> off_;
  struct UnknownFailures {
    int ticks = 0;  // consecutive failures
    Instant last;
    bool told = false;
  };
  std::array<UnknownFailures, kNvmlQueryCount> unknown_;
  nvml::Return lost_ = nvml::kSuccess;
  const char* lost_in_ = "";

  Sample row_;
  HeldSamples held_;
  std::uint32_t seen_ = 0;  // bits of the signals that were ever read
  std::vector<std::pair<Signal, const char*>> names_;
  std::vector<std::pair<NoteKind, std::string>> remarks_;
  std::vector<RunFact> facts_;
  std::optional<GpuHolders> holders_;

  UtilizationRing ring_;
  bool window_told_ = false;
  std::vector<nvml::DriverSample> ring_room_;
  std::optional<Instant> ring_read_;                       // when the ring last gave a value, or was first read
  bool ring_was_dry_ = false;                              // the ring is empty, and the gauge is polled instead
  Instant ring_until_ = Instant::FromNanos(INT64_MIN);     // time of the ring's last reading
  Instant discard_until_ = Instant::FromNanos(INT64_MIN);  // utilization is too high until then
  WindowMeter change_meter_;                               // measures the window of the gauge
  std::int64_t rates_last_ = -1;
  Instant rates_at_;
  Instant change_at_;
  bool changed_before_ = false;

  std::optional<std::uint64_t> energy_;
  std::optional<std::uint64_t> ecc_;
  std::int64_t memory_used_ = 0;
  bool memory_is_net_ = false;  // memory_used_ leaves out what the driver reserves
  Every processes_due_{Nanos(5 * kNanosPerSecond)};
  std::optional<bool> is_held_;   // whether a process holds it, by the last list; absent: unknown or outdated
  std::int64_t memory_then_ = 0;  // least memory since that list if nobody held the GPU, otherwise most
  bool unlisted_told_ = false;
  std::uint32_t holders_room_ = 16;  // entries for the next list
  CounterRate pcie_rx_;
  CounterRate pcie_tx_;
  CounterRate nvlink_rx_;
  CounterRate nvlink_tx_;
  SlowdownFields slowdowns_;
  std::unique_ptr<GpmPair> gpm_;
  bool gpm_links_ = false;  // GPM gives the traffic of the links
};

}  // namespace idleburn
