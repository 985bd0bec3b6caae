#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "cli/command.h"

namespace idleburn {

// `idleburn claim`: writes down, before a change, how its saving will be judged.
Result<int> RunClaim(const std::vector<std::string>& arguments, const Environment& environment);

}  // namespace idleburn
