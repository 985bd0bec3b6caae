#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace idleburn {

// ".35" or "35%" to 0.35; absent for what is neither. Whether it may be negative or above 1, the caller knows.
std::optional<double> ParseShare(std::string_view text);

// 0.348 as "34.8 %", and never "-0.0 %".
std::string PercentText(double share);

}  // namespace idleburn
