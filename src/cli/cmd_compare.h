#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "cli/command.h"

namespace idleburn {

// `idleburn compare`: whether a change saved what was claimed, and how sure that is.
Result<int> RunCompare(const std::vector<std::string>& arguments, const Environment& environment);

}  // namespace idleburn
