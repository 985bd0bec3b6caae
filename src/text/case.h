#pragma once

#include <string>
#include <string_view>

namespace idleburn {

// Of the letters of ASCII; all else stays, and differs.
std::string Lower(std::string_view text);
bool StartsWithIgnoreCase(std::string_view text, std::string_view start);

}  // namespace idleburn
