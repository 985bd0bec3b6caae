#pragma once

#include <cstddef>
#include <functional>
#include <string_view>

namespace idleburn {

// For tables by text in which a string_view can be looked up without making a string of it.
struct TextHash {
  using is_transparent = void;
  std::size_t operator()(std::string_view text) const { return std::hash<std::string_view>()(text); }
};

}  // namespace idleburn
