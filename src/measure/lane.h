#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "base/time.h"
#include "telemetry/live_sink.h"

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

// Which ticks a slower part of a lane takes: the first, then one a period, on a grid that late ticks do not move.
class Every {
 public:
  explicit Every(Nanos period) : period_(period) {}

  // A tick a little early is due too: ticks come when they come.
  bool Due(Instant now) {
    const Nanos slack = std::min(period_ / 4, Nanos(25'000'000));
    if (started_ && now + slack < next_) return false;
    if (!started_ || now - next_ >= period_) next_ = now;
    started_ = true;
    next_ = next_ + period_;
    return true;
  }

 private:
  Nanos period_;
  Instant next_;
  bool started_ = false;
};

// Something that a thread of the sampler reads again and again: the GPUs of a driver, the host, a workload's processes.
// A lane keeps what it needs open between ticks and reads its slower parts on some of its ticks only.
class Lane {
 public:
  Lane() = default;
  Lane(const Lane&) = delete;
  Lane& operator=(const Lane&) = delete;
  virtual ~Lane() = default;

  // Reads what is due and pushes it, stamped with `now` unless the source stamps its own readings. Never fails: what
  // cannot be read is unavailable in the samples, and noted once.
  virtual void Tick(Instant now, LiveSink& out) = 0;
  // After the last tick: pushes what the lane still holds back, and then lets go of its driver.
  virtual void Finish(Instant /*now*/, LiveSink& /*out*/) {}

  // For lanes that call into a driver, which may not return. These three are called by another thread than Tick's,
  // also while Tick hangs.
  //
  // The call that has not returned yet, as a person would look it up; empty if none.
  [[nodiscard]] virtual std::string Pending() const { return {}; }
  // Tick hangs: says of everything the lane reads that its values are stale.
  virtual void PushStale(Instant /*now*/, LiveSink& /*out*/) {}
  // The thread of a hanging Tick is given up: when the call returns after all, nothing outside the lane may be touched.
  virtual void Abandon() {}

  // How long the calls of the lane took; not while it ticks.
  [[nodiscard]] virtual std::vector<CallTimes> Calls() const { return {}; }
};

}  // namespace idleburn
