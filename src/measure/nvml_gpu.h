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

// Room in which a driver lists processes, and what it wrote there. Drivers 535.43 to 535.86 write records of 32 bytes
// under the name and version of those of 24, so there is room for the longer ones always, and how long they are is read
// from how far the driver wrote.
class ProcessRoom {
 public:
  explicit ProcessRoom(std::uint32_t entries);

  // For one call of GetComputeRunningProcesses and its like, versions 2 and 3.
  [[nodiscard]] nvml::ProcessInfo* Address() { return reinterpret_cast<nvml::ProcessInfo*>(words_.data()); }
  // The `count` records that the driver says it wrote; absent if they are of no length that is known.
  [[nodiscard]] std::optional<std::vector<nvml::ProcessInfo>> Read(std::uint32_t count) const;

 private:
  std::uint32_t entries_;
  std::vector<std::uint64_t> words_;
};

// What is asked of a device, each with its own fate: what one driver or GPU does not support is not asked again.
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

// One GPU, or one MIG instance, and what was read of it since the library was initialised.
class NvmlGpu {
 public:
  struct Place {
    nvml::Device handle = nullptr;
    nvml::Device board = nullptr;           // of an instance, else the same
    std::optional<std::uint32_t> instance;  // GPU instance id
    // Of an instance: the compute instances beside the one of `handle`. What it does is read of any of them; who holds
    // it is the processes of all.
    std::vector<nvml::Device> beside;
    bool has_instances = false;  // then power, clocks and the like only: the rest is the instances'
    DeviceId id = 0;
    std::string uuid;
    std::vector<std::string> uuids_beside;  // of `beside`
    bool in_part = false;                   // a board of which the driver keeps instances from this process
    std::string label;                      // "GPU 0", "GPU 0 instance 3", for notes

    [[nodiscard]] std::vector<nvml::Device> Handles() const {
      std::vector<nvml::Device> all = {handle};
      all.insert(all.end(), beside.begin(), beside.end());
      return all;
    }
  };
  // When a tick is: on the run's line, and as the clocks read then.
  struct Moment {
    Instant now;
    ClockReading read;
    const TimeLine* line;
  };

  NvmlGpu(NvmlLibrary& nvml, Place place, const std::string& nvml_version, std::int64_t wall_us);

  // The library was initialised anew: nothing it said before of what it supports counts.
  void Attach(Place place);
  // Before the library is shut down.
  void Detach() { gpm_.reset(); }
  // The driver was loaded just before `now`: until a second and a window later its utilization reads high.
  void DistrustUntilSettled(Instant now);
  // The library, initialised anew, does not list it.
  void SetMissing() {
    lost_ = nvml::kGpuIsLost;
    lost_in_ = nvml_.handle_by_index.name;
  }

  // The parts of a tick; each adds to the row of this moment.
  void StartRow(const Moment& moment);
  void ReadFast(const Moment& moment);
  // Utilization: from the ring, or where there is none from a gauge. Both after ReadFast, whose energy counter tells
  // that the driver was loaded anew.
  void ReadRing(const Moment& moment);
  void ReadGauge(const Moment& moment);
  void ReadGpm();
  void ReadMedium(const Moment& moment);
  // Lists are dear, and are read every 5 s at most.
  bool ProcessesDue(Instant now) { return processes_due_.Due(now); }
  void ReadProcesses(const Moment& moment);
  void ReadRare();
  void SetXid(std::uint64_t code) { row_.Set(Signal::kXid, static_cast<std::int64_t>(code)); }
  // Holds the row, and passes on what is complete by now.
  void EndRow(const Moment& moment, std::vector<Sample>& out);
  // Passes on all that is held.
  void Flush(std::vector<Sample>& out) { held_.Release(Instant::FromNanos(INT64_MAX), out); }
  // Passes on all that is held, and that nothing can be read now.
  void PassUnread(Instant now, Unobserved why, std::vector<Sample>& out);

  // The row of a moment at which nothing could be read of what was read before.
  [[nodiscard]] Sample Unread(Instant now, Unobserved why) const;
  void Forbid(Instant time) { held_.Forbid(time); }
  [[nodiscard]] const std::vector<Sample>& held() const { return held_.held(); }
  // The wall clock was set by `step`; it is `wall` now.
  void MoveWall(Nanos step, Instant wall) { ring_.MoveWall(step, wall.nanos() / 1000); }

  [[nodiscard]] const Place& place() const { return place_; }
  [[nodiscard]] bool lost() const { return lost_ != nvml::kSuccess; }
  [[nodiscard]] nvml::Return lost_code() const { return lost_; }
  [[nodiscard]] const char* lost_in() const { return lost_in_; }
  // What became known or should be said since the last call.
  std::vector<std::pair<Signal, const char*>> TakeCounterNames() { return std::exchange(names_, {}); }
  std::vector<std::pair<NoteKind, std::string>> TakeRemarks() { return std::exchange(remarks_, {}); }
  std::vector<RunFact> TakeFacts() { return std::exchange(facts_, {}); }
  // Who holds it, where that was asked since the last call. Start times are not filled in.
  std::optional<GpuHolders> TakeHolders() { return std::exchange(holders_, std::nullopt); }

 private:
  template <typename... Parameters, typename... Arguments>
  bool Ask(NvmlQuery query, NvmlFunction<Parameters...>& function, Arguments... arguments) {
    if (off_[static_cast<std::size_t>(query)] || lost()) return false;
    return Heard(query, function.name, nvml_.Call(function, place_.handle, arguments...));
  }
  bool AskField(NvmlQuery query, std::uint32_t field, std::uint32_t scope, nvml::FieldValue* out);
  bool Heard(NvmlQuery query, const char* function, nvml::Return code);
  void HeardUnknown(NvmlQuery query, const char* function);
  [[nodiscard]] bool BaseFails();
  void AskRestingAgain();
  [[nodiscard]] bool Off(NvmlQuery query) const { return off_[static_cast<std::size_t>(query)].has_value(); }
  // A reading of `signal`, from that counter.
  void Put(Signal signal, std::int64_t value, const char* counter);
  // There is none, because of that query.
  void Miss(Signal signal, NvmlQuery query);
  void PutPercent(Signal signal, const std::optional<double>& percent, const char* counter);

  void TakeRing(const Moment& moment);
  [[nodiscard]] bool RingIsDry(Instant now) const;
  void ReadRates(const Moment& moment);
  void ReadPower();
  void ReadEnergy(const Moment& moment);
  void ReadMemory();
  void DoubtHolders();
  bool IsHeldUnlisted();
  // How many processes hold it is not known at this row, for `why` unless others lack a reading there.
  void MissHolders(Unobserved why);
  void ReadTemperature();
  void ReadLinks(const Moment& moment);
  void ReadSlowdowns(const Moment& moment);
  std::optional<std::int64_t> Link(NvmlQuery query, std::uint32_t field, std::uint32_t scope, CounterRate& rate,
                                   Instant at, std::int64_t unit);
  void PlaceReading(const UtilizationRing::Reading& reading, const Moment& moment);
  void Settled(Nanos window, bool estimated);
  bool ListProcesses(NvmlQuery query, NvmlFunction<nvml::Device, std::uint32_t*, nvml::ProcessInfo*>& function,
                     std::vector<GpuHolder>& holders);
  bool ListProcessesV1(std::vector<GpuHolder>& holders);

  NvmlLibrary& nvml_;
  Place place_;
  // Why it is not asked any more; kGap: it fails for reasons unknown, and rests for a minute at most.
  std::array<std::optional<Unobserved>, kNvmlQueryCount> off_;
  struct UnknownFailures {
    int ticks = 0;  // in a row, of those at which it was asked
    Instant last;
    bool told = false;
  };
  std::array<UnknownFailures, kNvmlQueryCount> unknown_;
  nvml::Return lost_ = nvml::kSuccess;
  const char* lost_in_ = "";

  Sample row_;
  HeldSamples held_;
  std::uint32_t seen_ = 0;  // signals ever read
  std::vector<std::pair<Signal, const char*>> names_;
  std::vector<std::pair<NoteKind, std::string>> remarks_;
  std::vector<RunFact> facts_;
  std::optional<GpuHolders> holders_;

  UtilizationRing ring_;
  bool window_told_ = false;
  std::vector<nvml::DriverSample> ring_room_;
  std::optional<Instant> ring_read_;                       // when it last gave one, or was first asked
  bool ring_was_dry_ = false;                              // and the gauge is polled meanwhile
  Instant ring_until_ = Instant::FromNanos(INT64_MIN);     // time of its last reading
  Instant discard_until_ = Instant::FromNanos(INT64_MIN);  // after a driver was loaded its utilization reads high
  WindowMeter change_meter_;                               // where no ring tells the window
  std::int64_t rates_last_ = -1;
  Instant rates_at_;
  Instant change_at_;
  bool changed_before_ = false;

  std::optional<std::uint64_t> energy_;
  std::optional<std::uint64_t> ecc_;
  std::int64_t memory_used_ = 0;
  bool memory_is_net_ = false;  // of what the driver keeps for itself
  Every processes_due_{Nanos(5 * kNanosPerSecond)};
  std::optional<bool> is_held_;   // by the last list; absent: it told nothing, or is not believed any more
  std::int64_t memory_then_ = 0;  // least since that list if nobody held it, else most
  bool unlisted_told_ = false;
  std::uint32_t holders_room_ = 16;  // of the next list
  CounterRate pcie_rx_;
  CounterRate pcie_tx_;
  CounterRate nvlink_rx_;
  CounterRate nvlink_tx_;
  SlowdownFields slowdowns_;
  std::unique_ptr<GpmPair> gpm_;
  bool gpm_links_ = false;  // GPM gives what the links move
};

}  // namespace idleburn
