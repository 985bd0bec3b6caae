#pragma once

#include <memory>

#include "base/byte_source.h"

namespace idleburn {

// Wraps a source so that standard error shows how much of it was read, how fast, and how long it will take. The line
// appears after a second, is renewed twice a second while the source is read, and is wiped at the end. `size` is the
// size of the input in bytes. 0 means unknown (compressed input, a pipe); then no remaining time is shown.
std::unique_ptr<ByteSource> WithProgress(std::unique_ptr<ByteSource> in, std::uintmax_t size);

}  // namespace idleburn
