#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "cli/command.h"

namespace idleburn {

// What several claimed savings really add up to, by every rule (docs/combining.md).
Result<int> RunCombine(const std::vector<std::string>& arguments, const Environment& environment);

}  // namespace idleburn
