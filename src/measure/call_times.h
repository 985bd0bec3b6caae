#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <string>

#include "base/time.h"

namespace idleburn {

// How long something took, as counts of spans in buckets an eighth of a power of two apart: constant memory, and any
// quantile within 12.5 %.
class Spread {
 public:
  void Add(Nanos span) {
    const auto ns = static_cast<std::uint64_t>(std::max<std::int64_t>(span.count(), 0));
    ++counts_[Bucket(ns)];
    ++count_;
    max_ = std::max(max_, span);
    total_ += span;
  }
  void Add(const Spread& other) {
    for (std::size_t i = 0; i < kBuckets; ++i) counts_[i] += other.counts_[i];
    count_ += other.count_;
    max_ = std::max(max_, other.max_);
    total_ += other.total_;
  }
  [[nodiscard]] std::int64_t count() const { return count_; }
  [[nodiscard]] Nanos max() const { return max_; }
  [[nodiscard]] Nanos total() const { return total_; }
  // The smallest bound that at least the share `p` (0 < p <= 1) of all spans does not exceed; 0 without any.
  [[nodiscard]] Nanos Quantile(double p) const {
    const double wanted = p * static_cast<double>(count_);
    std::int64_t seen = 0;
    for (std::size_t i = 0; i < kBuckets; ++i) {
      seen += counts_[i];
      if (seen > 0 && static_cast<double>(seen) >= wanted) return std::min(max_, Nanos(UpperEdge(i)));
    }
    return max_;
  }

 private:
  // Spans below 16 ns have a bucket each, spans from 2^46 ns (20 hours) on share the last.
  static constexpr std::size_t kBuckets = 16 + 42 * 8;
  static std::size_t Bucket(std::uint64_t ns) {
    if (ns < 16) return static_cast<std::size_t>(ns);
    const auto exponent = static_cast<std::size_t>(std::bit_width(ns)) - 1;  // at least 4
    const std::size_t eighth = static_cast<std::size_t>(ns >> (exponent - 3)) & 7;
    return std::min(kBuckets - 1, 16 + (exponent - 4) * 8 + eighth);
  }
  static std::int64_t UpperEdge(std::size_t bucket) {
    if (bucket < 16) return static_cast<std::int64_t>(bucket);
    const std::size_t exponent = (bucket - 16) / 8 + 4;
    const auto eighth = static_cast<std::int64_t>((bucket - 16) % 8);
    return ((8 + eighth + 1) << (exponent - 3)) - 1;
  }

  std::array<std::int64_t, kBuckets> counts_{};
  std::int64_t count_ = 0;
  Nanos max_{0};
  Nanos total_{0};
};

// What calls of one function of a driver took.
struct CallTimes {
  std::string function;
  std::int64_t calls = 0;
  Nanos p50{0};
  Nanos p99{0};
  Nanos max{0};
  Nanos total{0};
};

}  // namespace idleburn
