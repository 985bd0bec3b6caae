#pragma once

#include <string>
#include <vector>

#include "cli/command.h"

namespace idleburn {

// `idleburn drill`: interrupts a command, resumes it, and says whether it may live on capacity that can be taken away.
Result<int> RunDrillCommand(const std::vector<std::string>& arguments, const Environment& environment);

}  // namespace idleburn
