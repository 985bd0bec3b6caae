#include "text/ascii_only.h"

#include <algorithm>
#include <array>
#include <utility>

#include "text/table.h"

namespace idleburn {
namespace {

constexpr std::array<std::pair<std::string_view, std::string_view>, 16> kSigns = {{
    {"·", "."},
    {"▁", "_"},
    {"▒", "%"},
    {"▃", "-"},
    {"▅", "="},
    {"█", "#"},
    {"╳", "x"},
    {"▏", " "},
    {"▎", " "},
    {"▍", " "},
    {"▌", "#"},
    {"▋", "#"},
    {"▊", "#"},
    {"▉", "#"},
    {"…", "~"},
    {"±", "+-"},
}};

bool IsAscii(char c) { return static_cast<unsigned char>(c) < 0x80; }
bool IsTail(char c) { return (static_cast<unsigned char>(c) & 0xC0) == 0x80; }  // of a character of several bytes

}  // namespace

std::string AsciiOnly(std::string_view text) {
  std::string out;
  for (std::size_t at = 0; at < text.size();) {
    if (IsAscii(text[at])) {
      out += text[at++];
      continue;
    }
    std::size_t end = at + 1;
    while (end < text.size() && IsTail(text[end])) ++end;
    const std::string_view sign = text.substr(at, end - at);
    const auto known = std::find_if(kSigns.begin(), kSigns.end(), [&](const auto& s) { return s.first == sign; });
    if (known != kSigns.end()) {
      out += known->second;
    } else {
      out.append(static_cast<std::size_t>(DisplayWidth(sign)), '?');
    }
    at = end;
  }
  return out;
}

}  // namespace idleburn
