#pragma once

#include "cli/command.h"

namespace idleburn {

// `idleburn plan`: what a training run needs in memory and time, before it is started.
Result<int> RunPlan(const std::vector<std::string>& arguments, const Environment& environment);

}  // namespace idleburn
