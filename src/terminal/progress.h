#pragma once

#include <memory>

#include "base/byte_source.h"

namespace idleburn {

// A source that shows on standard error how far it was read, how fast, and how long it will take, twice a second once
// it has taken a second; the line is wiped at the end. `size`: of the input in bytes, 0 if unknown (compressed, a
// pipe).
std::unique_ptr<ByteSource> WithProgress(std::unique_ptr<ByteSource> in, std::uintmax_t size);

}  // namespace idleburn
