#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace idleburn {

struct TraceNs {
  std::int64_t ns = 0;
  bool rounded = false;  // the text is finer than a nanosecond, or in a form that only binary floating point writes
};

// Microseconds as a trace writes them to nanoseconds, without passing through binary floating point:
// "1712195495519761.132" has more digits than a double. Rounded half away from zero. Absent where it is no number, or
// lies beyond 2^62 ns (146 years) on either side of 0, so that differences of two always fit.
std::optional<TraceNs> TraceMicrosToNs(std::string_view micros);

}  // namespace idleburn
