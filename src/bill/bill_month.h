#pragma once

#include <cstdint>
#include <string>

#include "base/result.h"
#include "base/time.h"

namespace idleburn {

// A month: its name, begin and end in Unix seconds.
struct MonthSpan {
  std::string name;
  std::int64_t begin = 0;
  std::int64_t end = 0;
};
// Reads "2026-11". Empty is the month of `now`.
Result<MonthSpan> ParseMonth(const std::string& text, Instant now);

}  // namespace idleburn
