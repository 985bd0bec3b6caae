#pragma once

#include <string>
#include <string_view>

namespace idleburn {

// For a terminal of another character set: the signs that reports are drawn with as signs of ASCII that look alike, any
// other character of UTF-8 as a question mark a column. As wide as before, but for one column more of a plus-minus.
std::string AsciiOnly(std::string_view text);

}  // namespace idleburn
