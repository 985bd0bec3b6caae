#pragma once

#include <string>
#include <string_view>

namespace idleburn {

// "35.2E-7" as "0.00000352", as billing exports write small prices; anything else as it is, with an exponent beyond 40
// too, so that whoever parses it says what is wrong.
std::string PlainDecimal(std::string_view text);

}  // namespace idleburn
