#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "cli/command.h"

namespace idleburn {

Result<int> RunDemo(const std::vector<std::string>& arguments, const Environment& environment);

}  // namespace idleburn
