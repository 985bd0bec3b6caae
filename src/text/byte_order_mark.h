#pragma once

#include <string_view>

namespace idleburn {

// What editors and spreadsheets put before UTF-8.
inline constexpr std::string_view kByteOrderMark = "\xEF\xBB\xBF";

// The beginning of a text without it.
constexpr std::string_view WithoutByteOrderMark(std::string_view text) {
  return text.starts_with(kByteOrderMark) ? text.substr(kByteOrderMark.size()) : text;
}

}  // namespace idleburn
