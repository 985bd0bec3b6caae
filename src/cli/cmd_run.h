#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "cli/command.h"

namespace idleburn {

// idleburn run [flags] -- CMD...
Result<int> RunRun(const std::vector<std::string>& arguments, const Environment& environment);
// idleburn record [--for 10m] [-o FILE]
Result<int> RunRecord(const std::vector<std::string>& arguments, const Environment& environment);

}  // namespace idleburn
