#pragma once

#include <string_view>

#include "base/fraction.h"
#include "base/result.h"

namespace idleburn {

// "2.50", "1000000000000", "35%": at least 0, at most 24 digits, exactly. What is wrong says how to write it.
Result<Fraction> ParseDecimal(std::string_view text);

}  // namespace idleburn
