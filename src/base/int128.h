#pragma once

#include <cstdint>

namespace idleburn {

// Products such as nano-dollars x nanoseconds do not fit 64 bits.
__extension__ typedef __int128 Int128;            // NOLINT(modernize-use-using): __extension__ goes with typedef only
__extension__ typedef unsigned __int128 Uint128;  // NOLINT(modernize-use-using)

// n / d rounded half to even, as money and readings are. d > 0. For example, 5/2 and 3/2 both give 2. Half to even,
// because rounding halves away from zero would make sums of many amounts too large.
constexpr Int128 DivHalfEven(Int128 n, Int128 d) {
  const Int128 quotient = n / d;
  const Int128 rest = n % d;
  const Int128 twice = (rest < 0 ? -rest : rest) * 2;
  const bool away = twice > d || (twice == d && quotient % 2 != 0);
  return away ? quotient + (n < 0 ? -1 : 1) : quotient;
}

// n / d rounded toward minus infinity. d > 0.
constexpr Int128 DivFloor(Int128 n, Int128 d) { return n / d - (n % d < 0 ? 1 : 0); }

// Whether n can be stored in 64 bits.
constexpr bool FitsInt64(Int128 n) { return n >= INT64_MIN && n <= INT64_MAX; }

}  // namespace idleburn
