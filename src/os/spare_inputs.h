#pragma once

#include <string>
#include <vector>

#include "base/result.h"

namespace idleburn {

// Fails if the report at `output` would take the place of a file that it is made from, under whatever name:
// recordings and claims cannot be made again. An output that is no file ("-", "") and inputs that are none (ids of
// the history) are fine.
Result<void> SpareInputs(const std::string& output, const std::vector<std::string>& inputs);
// Fails if the folder of an output does not exist. Called before a long run, which would otherwise lose its report.
Result<void> CheckFolder(const std::string& output);

}  // namespace idleburn
