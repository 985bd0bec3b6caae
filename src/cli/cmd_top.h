#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "cli/command.h"

namespace idleburn {

// `idleburn top`: what each GPU does and costs, live. q or Ctrl-C ends it.
Result<int> RunTop(const std::vector<std::string>& arguments, const Environment& environment);

}  // namespace idleburn
