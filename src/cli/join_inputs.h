#pragma once

#include <cstdint>
#include <string>

#include "cli/input_overlap.h"
#include "cli/open_input.h"
#include "import/host_watch.h"
#include "import/link_facts.h"
#include "telemetry/time_sorter.h"

namespace idleburn {

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

  // Reads one input to its end.
  Result<void> Read(const KnownInput& input, const ImportOptions& options);
  // Of which inputs spoke so far: a bit each.
  [[nodiscard]] std::uint32_t signals() const { return signals_; }
  // After the last: delivers what they say to `out` in order of time.
  Result<void> Deliver(SampleSink& out);

 private:
  DeviceTable& devices_;
  DataQuality& quality_;
  OwnerLedger& owners_;
  LinkFacts links_;
  TimeSorter sorter_{devices_, quality_};
  InputOverlap overlap_{devices_};
  HostWatch hosts_;
  int inputs_ = 0;
  std::uint32_t signals_ = 0;
  bool dated_ = false;
  std::string undated_;  // the first input without times
};

}  // namespace idleburn
