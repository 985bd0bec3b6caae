#pragma once

#include <string>
#include <string_view>

#include "base/result.h"

namespace idleburn {

// All of `bytes` to an open file, waiting where it is set not to wait. 0, or the error that ended it.
int WriteAll(int to, std::string_view bytes);

// Writes a file so that it appears whole or not at all: to a temporary name beside it, then renamed. One that is there
// keeps its permissions, and a link to it stays a link. A special file such as /dev/stdout is written directly.
Result<void> WriteFileWhole(const std::string& path, std::string_view text);
// Writes a file that nobody is to change afterwards, read-only; one that is there already is an error and stays.
Result<void> WriteFileOnce(const std::string& path, std::string_view text);

}  // namespace idleburn
