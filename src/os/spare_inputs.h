#pragma once

#include <string>
#include <vector>

#include "base/result.h"

namespace idleburn {

// An error if the report at `output` would take the place of a file that it is made from: recordings and claims cannot
// be had again. Names that are no files ("-", ids of the history, "") are none.
Result<void> SpareInputs(const std::string& output, const std::vector<std::string>& inputs);
// An error if the folder of an output is not there: a long run would lose its report.
Result<void> CheckFolder(const std::string& output);

}  // namespace idleburn
