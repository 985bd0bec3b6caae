#pragma once

#include <span>
#include <string_view>

namespace idleburn {

// A lever that many plans have, and what is to be done for it.
struct LeverKind {
  std::string_view id;
  std::string_view title;
  std::string_view todo;
};
std::span<const LeverKind> LeverKinds();
// Null where there is no such kind.
const LeverKind* FindLeverKind(std::string_view id);

}  // namespace idleburn
