#pragma once

#include <string>
#include <string_view>

namespace idleburn {

// Two lower-case hexadecimal digits for each byte.
inline std::string HexText(std::string_view bytes) {
  constexpr std::string_view kDigits = "0123456789abcdef";
  std::string text;
  for (const char c : bytes) {
    const auto byte = static_cast<unsigned char>(c);
    text += {kDigits[byte >> 4], kDigits[byte & 15]};
  }
  return text;
}

}  // namespace idleburn
