#include "os/checksum.h"

#include <zlib.h>

namespace idleburn {

std::uint32_t Crc32(std::string_view bytes, std::uint32_t before) {
  return static_cast<std::uint32_t>(crc32_z(before, reinterpret_cast<const Bytef*>(bytes.data()), bytes.size()));
}

}  // namespace idleburn
