#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "base/fraction.h"

namespace idleburn {

// What is to be asked of a figure that is far from what its unit allows: "250 is far above 100 USD a GPU-hour; ...".
// Absent where it may well be meant, or where any number may; of money, where the currency is far from a dollar.
std::optional<std::string> DoubtOf(std::string_view key, const Fraction& value, std::string_view currency);

}  // namespace idleburn
