#pragma once

#include <string>
#include <vector>

#include "cli/command.h"

namespace idleburn {

// idleburn export INPUT... [--format csv|parquet] [-o FILE]
Result<int> RunExport(const std::vector<std::string>& arguments, const Environment& environment);

}  // namespace idleburn
