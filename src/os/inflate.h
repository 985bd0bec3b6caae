#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string_view>

#include "base/byte_source.h"

namespace idleburn {

enum class Compression : std::uint8_t { kGzip, kXz, kZstd };

// Told by the first bytes of an input.
std::optional<Compression> SniffCompression(std::string_view head);

// The unpacked bytes of `packed`. See OpenInput for bombs and truncation.
std::unique_ptr<ByteSource> Inflate(std::unique_ptr<ByteSource> packed, Compression compression);

}  // namespace idleburn
