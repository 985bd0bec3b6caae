#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "base/time.h"
#include "telemetry/live_sink.h"

namespace idleburn::testing {

// A run of a command on one node, as `idleburn run` would have recorded it.
struct MadeRecording {
  Instant start;
  double seconds = 60;
  double step_seconds = 0.2;
  std::int64_t samples_per_step = 32;  // 0: it counts none
  bool counts_steps = true;
  std::int64_t utilization = 55;  // percent
  std::int64_t memory_mib = 0;    // used of 80 GiB; 0: not read
  int gpus = 1;
  std::string uuid = "GPU-00000000-0000-0000-0000-00000000000";  // but for its last digit, the GPU's number
  std::string gpu_name = "NVIDIA H100 80GB HBM3";
  std::string exit = "exit 0";
  double restarts_at = -1;  // its count of work begins anew then; below 0: never
  double silent_from = -1, silent_to = -1;
  double clock_back_at = -1;                                 // the wall clock goes back by 5 s then; below 0: never
  std::vector<std::pair<HostSignal, std::int64_t>> job;      // by how much counters of the command rise in a second
  std::vector<std::pair<HostSignal, std::int64_t>> machine;  // the same of the whole machine
  std::vector<RunFact> facts = {{"command", "python train.py"}, {"driver", "550.54"}};

  // Writes it; the test fails if that cannot be done. Its path.
  std::string WriteTo(const std::string& path) const;
};

}  // namespace idleburn::testing
