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

// Looks at the recordings among several inputs before any of them is read. Finds on which machine each was made, and
// when each GPU was read there. Only plain files are looked at, since a pipe cannot be read twice. The result is empty
// for fewer than two recordings.
Result<RecordedHosts> LookAtRecordings(const std::vector<std::string>& paths, const ImportOptions& options);

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
  // Call it after the last input. Delivers all samples to `out` in order of time.
  Result<void> Deliver(SampleSink& out);

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
  std::uint32_t signals_ = 0;
  bool dated_ = false;
  std::string undated_;  // the first input without times
};

}  // namespace idleburn
