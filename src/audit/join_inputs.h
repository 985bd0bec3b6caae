#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "audit/open_input.h"
#include "base/result.h"
#include "import/device_facts.h"
#include "import/host_watch.h"
#include "telemetry/device.h"
#include "telemetry/reading_times.h"
#include "telemetry/time_sorter.h"

namespace idleburn {
// Finds inputs that would be joined into one GPU although they describe two. Logs of two machines may name the same
// index or bus id and no host. Joined, the readings of two GPUs would count as one, and the bill would be half. Such
// inputs show by giving the same counter for the same time, for longer than one log needs to take over from another.
class InputOverlap {
 public:
  explicit InputOverlap(const DeviceTable& devices) : devices_(devices) {}

  // Takes a sample of the present input.
  void See(const Sample& sample);
  // Ends the present input; `input` is its name. Fails if it and an earlier input give the same counter of a device for
  // the same time. Two inputs that both name the device by its UUID, or both by its host, are certain and never fail.
  Result<void> End(const std::string& input);
  // Call it after the last input. Fails if an input names a GPU without its host and several hosts have such a GPU.
  [[nodiscard]] Result<void> Finish() const;

 private:
  // The signals that decide how time and energy are counted. Other signals only add detail to a GPU that these signals
  // already identify.
  static constexpr std::array<Signal, 5> kDecisive = {Signal::kUtilization, Signal::kGrEngineActive, Signal::kSmActive,
                                                      Signal::kPower, Signal::kEnergy};
  // What one input gave for one signal of a device.
  struct Series {
    std::size_t input;  // its place in inputs_
    unsigned named_by;
    std::string counter;
    Coverage covered;
  };
  [[nodiscard]] Result<void> Check(const Series& before, const Series& now, DeviceId device) const;

  const DeviceTable& devices_;
  std::vector<std::array<Coverage, kDecisive.size()>> present_;  // by device
  std::map<std::pair<DeviceId, Signal>, std::vector<Series>> ended_;
  std::vector<std::pair<std::size_t, DeviceId>> placed_;  // what inputs name by neither UUID nor host
  std::vector<std::string> inputs_;                       // that ended
};

// The keys by which an input seems to name its GPUs, guessed from its first bytes. Inputs are read in the order of this
// list. An input with both a UUID and an index comes first: it tells how inputs with only one of them belong together.
enum class InputKeys : std::uint8_t { kSeveral, kUuid, kIndex };
InputKeys KeysOf(std::string_view head);

// Names a device in an error message: its UUID, else its bus id, index or model.
std::string NameOf(const Device& device);

// Fails if two devices of several inputs may be one GPU. A GPU that counts twice would cost twice.
Result<void> CheckDistinct(const DeviceTable& devices);

// Looks at the recordings among several inputs before any of them is read. Finds on which machine each was made, and
// when each GPU was read there. Only plain files are looked at, since a pipe cannot be read twice. The result is empty
// for fewer than two recordings. `progress` may be null.
Result<RecordedHosts> LookAtRecordings(const std::vector<std::string>& paths, const ImportOptions& options,
                                       Progress* progress);

// Reads all of an input into `target`. Fails on data that its importer refuses. An input that is cut off is read as far
// as it goes and counted as a doubt.
Result<void> ImportInput(const KnownInput& input, const ImportOptions& options, ImportTarget& target);

// Fails if most rows of an input are older than the row before them. Such a file is sorted newest first: nearly all of
// its rows would be dropped as late, or taken for steps of the clock.
Result<void> CheckOrder(const std::string& input, std::int64_t rows, std::int64_t rows_back);

// Puts the inputs of one run on a common clock. Steps of a clock are removed from each input first (StraightClock).
// Refuses inputs that cannot belong to one run, and inputs whose GPUs cannot be told apart.
//
// Usage: TellMachines if there are several inputs, Read for each, then Deliver once.
class InputJoin {
 public:
  // All arguments must outlive the object. `beside` receives the PCIe links of boards; null drops them.
  InputJoin(DeviceTable& devices, DataQuality& quality, OwnerLedger& owners, LiveSink* beside = nullptr)
      : devices_(devices), quality_(quality), owners_(owners), links_(beside) {}

  // Takes what LookAtRecordings found. If two machines had one UUID at the same time, it becomes two GPUs. Fails if the
  // recordings leave open whether it is one GPU or two.
  Result<void> TellMachines(const RecordedHosts& looked_at);
  // Reads one input to its end. A recording gets the host that TellMachines found for it. Fails if the input cannot be
  // joined.
  Result<void> Read(KnownInput& input, const ImportOptions& options);
  // The signals that occurred in any input so far, one bit each.
  [[nodiscard]] std::uint32_t signals() const { return signals_; }
  // Call it after the last input. Delivers all samples to `out` in order of time. `progress` may be null.
  Result<void> Deliver(SampleSink& out, Progress* progress);

 private:
  // Fails if an input uses a UUID of two machines without saying which machine it means.
  [[nodiscard]] Result<void> CheckTwins(const std::string& input) const;

  DeviceTable& devices_;
  DataQuality& quality_;
  OwnerLedger& owners_;
  LinkFacts links_;
  TimeSorter sorter_{devices_, quality_};
  InputOverlap overlap_{devices_};
  HostWatch hosts_;
  RecordedHosts recorded_;
  std::map<std::string, std::string> machines_;  // by recording, where a UUID is on two machines
  int inputs_ = 0;
  std::uint64_t samples_ = 0;  // of all inputs
  std::uint32_t signals_ = 0;
  bool dated_ = false;
  std::string undated_;  // the first input without times
};

}  // namespace idleburn
