#pragma once

#include <string_view>
#include <vector>

namespace idleburn {

// The parts of a list, trimmed, the empty ones too: "a, b," is "a", "b" and "". An empty list is one empty part.
std::vector<std::string_view> Split(std::string_view list, char separator);

}  // namespace idleburn
