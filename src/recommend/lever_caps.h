// What one lever can recover at most of what its cause takes. A cause may take 40 % of a step, and its first fix
// removes only half of that.

#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "diagnose/cause_table.h"
#include "diagnose/scene.h"

namespace idleburn {

struct LeverCap {
  // Part of the finding's bound, from 0 to 1. Absent: this data does not tell, and no saving is stated.
  std::optional<double> part = 1;
  std::string why;  // the formula, if it is not all
};

// For a lever of a finding. Example: twice the batch halves the launches for a sample, so `part` is 0.5 for
// larger_batch and launch_bound.
LeverCap CapOf(const Scene& scene, const Finding& finding, std::string_view lever);

}  // namespace idleburn
