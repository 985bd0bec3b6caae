#pragma once

#include <string_view>

namespace idleburn {

// One line of the program's own to standard error: "idleburn: ...", made safe to print.
void Say(std::string_view line);

}  // namespace idleburn
