#pragma once

#include <optional>
#include <string>
#include <vector>

#include "plan/calibration.h"

namespace idleburn {

// What would make a run fit a GPU that it does not fit.
struct FitChange {
  std::vector<std::string> changes;  // "checkpointing full": to be made together
  Prediction memory;                 // with them
};

// The first change that makes the run fit `capacity` bytes with its high end, in the order of what they cost in speed
// (docs/plan.md, "Memory"); if none suffices alone, the fewest of them from the front, together. Absent if all
// together do not.
std::optional<FitChange> CheapestChange(const Calibration& calibration, const RunRow& run, double capacity);

}  // namespace idleburn
