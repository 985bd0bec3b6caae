#pragma once

#include <string>
#include <string_view>

namespace idleburn {

// SHA-256 of bytes (FIPS 180-4), as 64 lower-case hexadecimal digits.
std::string Sha256Hex(std::string_view bytes);

}  // namespace idleburn
