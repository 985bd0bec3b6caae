#pragma once

#include <cstdint>
#include <string_view>

namespace idleburn {

// CRC-32 as in gzip and PNG (polynomial 0x04C11DB7, reflected). `before`: the checksum of what precedes `bytes`.
std::uint32_t Crc32(std::string_view bytes, std::uint32_t before = 0);

}  // namespace idleburn
