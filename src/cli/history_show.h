#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "cli/command.h"

namespace idleburn {

// `idleburn history show ID`: prints a kept run, or audits its recording again (--audit). A run whose idleburn was
// killed is completed from its recording when it is first shown, and written back. Fails if no run has that id.
Result<int> ShowRun(const std::vector<std::string>& arguments, const Environment& environment);

}  // namespace idleburn
