#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "base/time.h"

namespace idleburn {

struct TraceNs {
  std::int64_t ns = 0;
  bool rounded = false;  // the text is finer than a nanosecond, or in a form that only binary floating point writes
};

// Microseconds as a trace writes them to nanoseconds, without passing through binary floating point:
// "1712195495519761.132" has more digits than a double. Rounded half away from zero. Absent where it is no number, or
// lies beyond 2^61 ns (73 years) on either side of 0, so that sums and differences of two always fit.
std::optional<TraceNs> TraceMicrosToNs(std::string_view micros);

// Whether a profiler's stamp is of the wall clock: after September 2001. Others count from a machine's start, and
// machines stand for years, so IsDated would ask too little.
constexpr bool IsWallClock(std::int64_t stamp_ns) { return stamp_ns >= 1'000'000'000 * kNanosPerSecond; }

}  // namespace idleburn
