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

Verdict VerdictOf(const SavingInterval& saving, const SavingInterval& saving90, double smallest_effect,
                  std::span<const VerdictReason> reasons) {
  const bool suffices = !AnyWeighs(reasons, ReasonWeight::kAtMost);
  const bool claimed = !AnyWeighs(reasons, ReasonWeight::kNotVerified);
  if (saving.high < 0 && suffices) return Verdict::kRegression;
  if (saving.low > smallest_effect && suffices && claimed) return Verdict::kVerified;
  if (saving90.low > 0) return Verdict::kIndicated;
  if (saving90.high < 0) return Verdict::kIndicatedRegression;
  return Verdict::kNotShown;
}

}  // namespace idleburn
