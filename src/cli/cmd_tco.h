#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "cli/command.h"

namespace idleburn {

// idleburn tco SCENARIO.toml... | init
Result<int> RunTco(const std::vector<std::string>& arguments, const Environment& environment);

}  // namespace idleburn
