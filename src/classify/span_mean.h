#pragma once

#include <algorithm>
#include <cstdint>

#include "base/int128.h"

namespace idleburn {

// Holds the mean of `count` readings over `span` ns: their sum x span / count, rounded half to even. Fast for many sums
// of one span and count: what is divided is divided once, and a sum then takes three multiplications.
class SpanMean {
 public:
  constexpr SpanMean() : SpanMean(1, 1) {}
  // `span` and `count` > 0.
  constexpr SpanMean(std::int64_t span, std::int64_t count)
      : span_(span),
        count_(count),
        whole_(span / count),
        rest_(static_cast<std::uint64_t>(span % count)),
        half_(static_cast<std::uint64_t>(count) / 2),
        inverse_(UINT64_MAX / static_cast<std::uint64_t>(count) + (count > 1 ? 1 : 0)),
        may_tie_(count % 2 == 0) {
    if (count > INT32_MAX) return;
    const std::uint64_t most_left = UINT64_MAX / static_cast<std::uint64_t>(count);
    most_ = std::min<std::uint64_t>((most_left - half_) / std::max<std::uint64_t>(rest_, 1), INT64_MAX);
  }

  [[nodiscard]] std::int64_t span() const { return span_; }
  [[nodiscard]] std::int64_t count() const { return count_; }

  [[nodiscard]] Int128 Of(std::int64_t sum) const {
    const auto size = static_cast<std::uint64_t>(sum);  // of a sum below 0: beyond most_
    if (size > most_) return DivHalfEven(static_cast<Int128>(sum) * span_, count_);
    // sum x span / count = sum x whole_ + (sum x rest_) / count. `left` is at most 2^64 / count. The inverse exceeds
    // 2^64 / count by less than 1. So the quotient is exact.
    const std::uint64_t left = size * rest_ + half_;
    const auto quotient = static_cast<std::uint64_t>(static_cast<Uint128>(left) * inverse_ >> 64);
    const Int128 half_up = static_cast<Int128>(sum) * whole_ + static_cast<std::int64_t>(quotient);
    // No branch: whether the rest is a half is a matter of chance.
    const bool tie = may_tie_ & (quotient * static_cast<std::uint64_t>(count_) == left);
    return half_up - (static_cast<std::int64_t>(half_up) & static_cast<std::int64_t>(tie));
  }

 private:
  std::int64_t span_;
  std::int64_t count_;
  std::int64_t whole_;
  std::uint64_t rest_;
  std::uint64_t half_;
  std::uint64_t inverse_;   // 2^64 / count, rounded up
  std::uint64_t most_ = 0;  // the largest sum that is multiplied
  bool may_tie_;            // only an even count leaves a rest of exactly a half
};

}  // namespace idleburn
