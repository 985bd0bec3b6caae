#pragma once

#include <optional>
#include <string>
#include <vector>

#include "plan/calibration.h"

namespace idleburn {

// What would make a run fit a GPU that is too small for it, and what that costs in time.
struct FitChange {
  // Changes to be made together, in words: "checkpointing full".
  std::vector<std::string> changes;
  // The peak with them.
  Prediction memory;
  // GPU-time of a sample with them, as a multiple of what it takes without. Absent where no time can be estimated.
  std::optional<double> gpu_time;
  // GPUs that the run then takes.
  double gpus = 1;
  // Whether the training learns the same as without them.
  bool same_result = true;
};

// Every single change that makes the run fit `capacity` bytes with its high end, the cheapest in GPU-time first, and
// those that change what is learned last. Where no single change is enough, the fewest together, from the cheapest on.
// Empty if even all of them together do not do.
std::vector<FitChange> ChangesThatFit(const Calibration& calibration, const RunRow& run, double capacity);

}  // namespace idleburn
