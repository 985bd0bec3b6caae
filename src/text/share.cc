#include "text/share.h"

#include <fmt/format.h>

#include <cmath>

#include "text/number.h"

namespace idleburn {
namespace {

constexpr int kDecimals = 12;
constexpr double kScale = 1e12;

}  // namespace

std::optional<double> ParseShare(std::string_view text) {
  text = Trim(text);
  const bool percent = !text.empty() && text.back() == '%';
  if (percent) text = Trim(text.substr(0, text.size() - 1));
  const ScaledNumber number = ParseScaled(text, kDecimals);
  if (number.fault != NumberFault::kNone) return std::nullopt;
  return static_cast<double>(number.value) / (percent ? 100 * kScale : kScale);
}

std::string PercentText(double share) { return fmt::format("{:.1f} %", std::abs(share) < 5e-4 ? 0 : 100 * share); }

}  // namespace idleburn
