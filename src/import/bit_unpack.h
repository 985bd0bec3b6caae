#pragma once

#include <cstddef>
#include <cstdint>

namespace idleburn {

// Unpacks `groups` times eight values of `width` bits each, lowest bits first. A group takes `width` bytes; up to
// kParquetSlack bytes behind the last are read and not used. Widths: 0 to 32, and 0 to 64.
void UnpackBits(const char* in, int width, std::size_t groups, std::uint32_t* out);
void UnpackBits(const char* in, int width, std::size_t groups, std::uint64_t* out);

}  // namespace idleburn
