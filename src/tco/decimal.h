#pragma once

#include <string>
#include <string_view>

#include "base/fraction.h"
#include "base/result.h"

namespace idleburn {

// "2.50", "1000000000000", "35%": at least 0, at most 24 digits, exactly. What is wrong says how to write it.
Result<Fraction> ParseDecimal(std::string_view text);
// "2.5", "1000000000000": however large, at least 0, rounded half to even to a billionth. "more than can be kept" where
// a computation has left that.
std::string DecimalText(const Fraction& number);

}  // namespace idleburn
