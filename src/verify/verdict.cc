#include "verify/verdict.h"

#include <array>

namespace idleburn {

std::string_view VerdictName(Verdict verdict) {
  static constexpr std::array<std::string_view, 6> kNames = {"INVALID",   "REGRESSION",           "VERIFIED",
                                                             "INDICATED", "INDICATED_REGRESSION", "NOT_SHOWN"};
  return kNames[static_cast<std::size_t>(verdict)];
}

std::string_view RunLayoutName(RunLayout layout) {
  static constexpr std::array<std::string_view, 4> kNames = {"unknown", "before_after", "interleaved", "switchback"};
  return kNames[static_cast<std::size_t>(layout)];
}

}  // namespace idleburn
