#pragma once

#include <cctype>
#include <string>
#include <string_view>

namespace idleburn {

// Letters and digits alone, in lower case: "ZeRO-3" and "zero_3" are "zero3". What two people write of one thing.
inline std::string Squash(std::string_view text) {
  std::string plain;
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (std::isalnum(byte) != 0) plain += static_cast<char>(std::tolower(byte));
  }
  return plain;
}

}  // namespace idleburn
