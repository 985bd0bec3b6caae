#pragma once

#include <cstdint>
#include <optional>

#include "plan/spot_formulas.h"

namespace idleburn {

// What an interrupted job has to show: work that a completed checkpoint holds, and what it cost.
struct JobProgress {
  Hours kept{};
  Hours billed{};
  std::int64_t interruptions = 0;
};

// A machine is there for `available`. The job starts on it (R, of which the first `unbilled` costs nothing), works
// and writes a checkpoint after every interval, but none when all is done. Returns how much of the time it took to
// finish; absent if the machine went first, with all work since the last completed checkpoint.
std::optional<Hours> UseMachine(const CheckpointedWork& job, Hours unbilled, Hours available, JobProgress& progress);

}  // namespace idleburn
