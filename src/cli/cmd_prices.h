#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "cli/command.h"

namespace idleburn {

Result<int> RunPrices(const std::vector<std::string>& arguments, const Environment& environment);

}  // namespace idleburn
