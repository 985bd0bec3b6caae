#pragma once

#include <cstdint>

#include "base/int128.h"

namespace idleburn {

// Divides by the same number again and again, each time by a multiplication.
class Divider {
 public:
  struct Parts {
    std::int64_t quotient;
    std::int64_t rest;
  };

  constexpr Divider() : Divider(1) {}
  // `divisor` > 0.
  constexpr explicit Divider(std::int64_t divisor)
      : divisor_(divisor), inverse_(UINT64_MAX / static_cast<std::uint64_t>(divisor)) {}

  [[nodiscard]] std::int64_t divisor() const { return divisor_; }

  // n >= 0. The inverse lacks at most 1 of 2^64 / divisor, and n is below 2^63, so that the quotient lacks at most 1:
  // so it does of every multiple of the divisor, which no branch would guess.
  [[nodiscard]] Parts Divide(std::int64_t n) const {
    const auto unsigned_n = static_cast<std::uint64_t>(n);
    const auto quotient = static_cast<std::int64_t>(static_cast<Uint128>(unsigned_n) * inverse_ >> 64);
    const std::int64_t rest = n - quotient * divisor_;
    const auto lacks = static_cast<std::int64_t>(rest >= divisor_);
    return {quotient + lacks, rest - (divisor_ & -lacks)};
  }

 private:
  std::int64_t divisor_;
  std::uint64_t inverse_;
};

}  // namespace idleburn
