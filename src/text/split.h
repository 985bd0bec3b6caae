#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

namespace idleburn {

// The parts of a list, trimmed, the empty ones too: "a, b," is "a", "b" and "". An empty list is one empty part.
std::vector<std::string_view> Split(std::string_view list, char separator);

// The parts as one text with `separator` between; `text` is what is said of a part: a member of it, or a function.
template <typename Parts, typename Text = std::identity>
std::string ListText(const Parts& parts, std::string_view separator = ", ", Text text = {}) {
  std::string list;
  for (const auto& part : parts) {
    if (!list.empty()) list += separator;
    list += std::invoke(text, part);
  }
  return list;
}

}  // namespace idleburn
