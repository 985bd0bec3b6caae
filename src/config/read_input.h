#pragma once

#include <cstddef>
#include <string>

#include "base/result.h"

namespace idleburn {

// Reads a small input, unpacked, as one text. More than `most` bytes are an error: the caller expects a document, not
// a log.
Result<std::string> ReadInput(const std::string& path, std::size_t most);

}  // namespace idleburn
