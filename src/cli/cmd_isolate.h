#pragma once

#include <string>
#include <vector>

#include "cli/command.h"

namespace idleburn {

// idleburn isolate
Result<int> RunIsolate(const std::vector<std::string>& arguments, const Environment& environment);

}  // namespace idleburn
