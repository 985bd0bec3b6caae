#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "audit/input_overlap.h"
#include "audit/open_input.h"
#include "import/host_watch.h"
#include "import/device_facts.h"
#include "telemetry/time_sorter.h"

namespace idleburn {

// Looks at the recordings among several inputs, before any is read: on which machine each was made, and when each GPU
// was read there. Only plain files are looked at, since a pipe cannot be read twice. Empty for fewer than two.
Result<RecordedHosts> LookAtRecordings(const std::vector<std::string>& paths, const ImportOptions& options);

// Reads all of an input into `target`.
Result<void> ImportInput(const KnownInput& input, const ImportOptions& options, ImportTarget& target);

// Fails where most rows of an input are older than the row before them: newest first, nearly all would be dropped, or
// taken for steps of the clock.
Result<void> CheckOrder(const std::string& input, std::int64_t rows, std::int64_t rows_back);

// Puts the inputs of one run on a common clock, each one's own steps straightened before (StraightClock), and refuses
// those that cannot be of one run or whose GPUs cannot be told apart.
class InputJoin {
 public:
  // All outlive it. `beside` is told of the PCIe links of boards; null: nobody asks.
  InputJoin(DeviceTable& devices, DataQuality& quality, OwnerLedger& owners, LiveSink* beside = nullptr)
      : devices_(devices), quality_(quality), owners_(owners), links_(beside) {}

  // What the recordings among the inputs tell of their machines. GPUs that two machines have under one UUID at one time
  // become two. Fails where that is open.
  Result<void> TellMachines(const RecordedHosts& looked_at);
  // Reads one input to its end; names its machine where TellMachines needs it.
  Result<void> Read(KnownInput& input, const ImportOptions& options);
  // Of which inputs spoke so far: a bit each.
  [[nodiscard]] std::uint32_t signals() const { return signals_; }
  // After the last: delivers what they say to `out` in order of time.
  Result<void> Deliver(SampleSink& out);

 private:
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
  std::uint32_t signals_ = 0;
  bool dated_ = false;
  std::string undated_;  // the first input without times
};

}  // namespace idleburn
