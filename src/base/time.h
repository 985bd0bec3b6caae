#pragma once

#include <chrono>
#include <compare>
#include <cstdint>

namespace idleburn {

// A span of time in integer nanoseconds (292 years).
using Nanos = std::chrono::nanoseconds;

inline constexpr std::int64_t kNanosPerSecond = 1'000'000'000;
inline constexpr std::int64_t kNanosPerHour = 3600 * kNanosPerSecond;

// The whole second that holds an instant, both counted from the same zero. It rounds down, also before zero: -1 ns is
// in second -1.
constexpr std::int64_t FloorSecond(std::int64_t nanos) {
  return nanos / kNanosPerSecond - (nanos % kNanosPerSecond < 0 ? 1 : 0);
}

// A point on the time line of a run: nanoseconds since the Unix epoch, as fixed at the start of the run. A later step
// of the wall clock does not move it. A type of its own, so that a point and a span (Nanos) cannot be mistaken for
// each other. It reaches from 1677 to 2262.
class Instant {
 public:
  constexpr Instant() = default;
  static constexpr Instant FromNanos(std::int64_t ns) { return Instant(ns); }
  [[nodiscard]] constexpr std::int64_t nanos() const { return ns_; }
  constexpr auto operator<=>(const Instant&) const = default;
  friend constexpr Instant operator+(Instant t, Nanos d) { return Instant(t.ns_ + d.count()); }
  friend constexpr Nanos operator-(Instant a, Instant b) { return Nanos(a.ns_ - b.ns_); }

 private:
  explicit constexpr Instant(std::int64_t ns) : ns_(ns) {}
  std::int64_t ns_ = 0;
};

// Whether a time is one of the calendar: a year or more after 1970. What is measured without a clock begins at 0, and
// no run lasts a year.
constexpr bool IsDated(Instant time) { return time.nanos() >= 365 * 24 * kNanosPerHour; }

}  // namespace idleburn
