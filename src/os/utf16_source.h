#pragma once

#include <memory>
#include <string_view>

#include "base/byte_source.h"

namespace idleburn {

// True if the bytes begin with a UTF-16 byte-order mark: what PowerShell's `>` writes.
bool SniffUtf16(std::string_view head);

// The text of `in`, which begins with such a mark, as UTF-8 without it. Half a character (a lone surrogate, a last odd
// byte) becomes U+FFFD.
std::unique_ptr<ByteSource> DecodeUtf16(std::unique_ptr<ByteSource> in);

}  // namespace idleburn
