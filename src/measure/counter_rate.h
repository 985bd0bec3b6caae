#pragma once

#include <cstdint>
#include <optional>

#include "base/int128.h"
#include "base/time.h"

namespace idleburn {

// A counter of `bits` bits that wraps, as a rate per second.
class CounterRate {
 public:
  // No link is faster: what would be is a counter that began anew.
  explicit CounterRate(std::int64_t most_per_second) : most_(most_per_second) {}

  // The rate since the last reading; absent for the first, and where it cannot be.
  std::optional<std::int64_t> Take(std::uint64_t value, int bits, Instant at) {
    const std::uint64_t before = value_;
    const Nanos passed = at - at_;
    const bool first = !known_;
    value_ = value;
    at_ = at;
    known_ = true;
    if (first || passed <= Nanos(0)) return std::nullopt;
    std::uint64_t delta = value - before;
    if (bits < 64) delta &= (std::uint64_t{1} << bits) - 1;
    const Int128 rate = static_cast<Int128>(delta) * kNanosPerSecond / passed.count();
    if (rate * 10 > static_cast<Int128>(most_) * 11) return std::nullopt;
    return static_cast<std::int64_t>(rate);
  }
  void Forget() { known_ = false; }

 private:
  std::int64_t most_;
  std::uint64_t value_ = 0;
  Instant at_;
  bool known_ = false;
};

}  // namespace idleburn
