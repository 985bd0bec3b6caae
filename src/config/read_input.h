#pragma once

#include <cstddef>
#include <string>

#include "base/result.h"

namespace idleburn {

// A small input as one text; one of more than `most` bytes is an error.
Result<std::string> ReadInput(const std::string& path, std::size_t most);

}  // namespace idleburn
