#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "cli/command.h"

namespace idleburn {

// `idleburn doctor`: what can be measured here, what cannot and why. Exits 0, 1 for warnings, 2 for failures.
Result<int> RunDoctor(const std::vector<std::string>& arguments, const Environment& environment);

}  // namespace idleburn
