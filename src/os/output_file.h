#pragma once

#include <string>
#include <string_view>

#include "base/result.h"

namespace idleburn {

// Writes a file so that it appears whole or not at all: to a temporary name beside it, then renamed. A special file
// such as /dev/stdout is written directly.
Result<void> WriteFileWhole(const std::string& path, std::string_view text);

}  // namespace idleburn
