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

// The interface between a sampler and what it samples. measure/sampler.h owns the threads and the ticks. A lane owns
// the files or the driver that it reads.

// The distribution of durations, as counts in buckets that are an eighth of a power of two wide. Memory is constant,
// and every quantile is exact to 12.5 %. A list of all durations was no choice: a recording of a week has millions of
// ticks and calls, and measuring must not allocate more and more memory.
//
// Example: 1000 ns fall into the bucket of 960 to 1023 ns. A quantile in that bucket reads 1023 ns.
class Spread {
 public:
  // Counts one duration. A negative one, from a clock that went back, counts as 0 in its bucket.
  void Add(Nanos span) {
    const auto ns = static_cast<std::uint64_t>(std::max<std::int64_t>(span.count(), 0));
    ++counts_[Bucket(ns)];
    ++count_;
    max_ = std::max(max_, span);
    total_ += span;
  }
  // Merges exactly: the counts are as if every duration of `other` had been added here.
  void Add(const Spread& other) {
    for (std::size_t i = 0; i < kBuckets; ++i) counts_[i] += other.counts_[i];
    count_ += other.count_;
    max_ = std::max(max_, other.max_);
    total_ += other.total_;
  }
  [[nodiscard]] std::int64_t count() const { return count_; }
  [[nodiscard]] Nanos max() const { return max_; }
  [[nodiscard]] Nanos total() const { return total_; }
  // The p-quantile, 0 < p <= 1: the upper bound of its bucket, but not above max(). It errs upwards, so a slow driver
  // never looks faster than it is. 0 without durations.
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
  // Each duration below 16 ns has a bucket of its own. All from 2^46 ns (20 hours) share the last.
  static constexpr std::size_t kBuckets = 16 + 42 * 8;
  // The exponent of the highest bit selects a power of two. The next three bits select the eighth of it.
  static std::size_t Bucket(std::uint64_t ns) {
    if (ns < 16) return static_cast<std::size_t>(ns);
    const auto exponent = static_cast<std::size_t>(std::bit_width(ns)) - 1;  // at least 4
    const std::size_t eighth = static_cast<std::size_t>(ns >> (exponent - 3)) & 7;
    return std::min(kBuckets - 1, 16 + (exponent - 4) * 8 + eighth);
  }
  // The largest duration in a bucket: the inverse of Bucket.
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

// How long the calls of one driver function took. It goes into the recording as a fact (SamplerFacts), so a reader
// can see what measuring cost.
struct CallTimes {
  std::string function;
  std::int64_t calls = 0;
  Nanos p50{0};
  Nanos p99{0};
  Nanos max{0};
  Nanos total{0};
};

// Selects the ticks for a slower part of a lane: the first, then one per period. Late ticks do not shift the grid.
// With ticks each 100 ms and a period of 1 s, every tenth is due. Each slow part has its own, so that the parts need
// no common multiple of ticks.
class Every {
 public:
  explicit Every(Nanos period) : period_(period) {}

  // Whether this tick is due. A tick may come a little early, so up to a quarter period or 25 ms count.
  bool Due(Instant now) {
    const Nanos slack = std::min(period_ / 4, Nanos(25'000'000));
    if (started_ && now + slack < next_) return false;
    // After a pause of a whole period the grid starts anew. Otherwise every missed tick would be due at once.
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

// A source that a sampler's thread reads again and again: the GPUs of a driver, the host, the processes of a
// workload. A lane keeps its files open between ticks. It reads slower parts on some ticks only.
//
// One thread calls Tick and Finish, and Calls after them. Only Pending, PushStale and Abandon may come from another
// thread at the same time.
class Lane {
 public:
  Lane() = default;
  Lane(const Lane&) = delete;
  Lane& operator=(const Lane&) = delete;
  virtual ~Lane() = default;

  // Reads what is due and pushes it. The stamp is `now`, unless the source stamps its readings. It never fails: a value
  // that cannot be read is unavailable in the samples, and noted once.
  virtual void Tick(Instant now, LiveSink& out) = 0;
  // Ends the lane after its last tick. It pushes what it holds back and then releases its driver.
  virtual void Finish(Instant /*now*/, LiveSink& /*out*/) {}

  // A call into a driver may never return. The watchdog's thread calls the next three functions, also while Tick hangs.

  // The name of the call that has not returned yet, for the note about it. Empty if there is none.
  [[nodiscard]] virtual std::string Pending() const { return {}; }
  // Tick hangs: marks everything that the lane reads as stale. Without it the last values would seem to hold for as
  // long as the call hangs.
  virtual void PushStale(Instant /*now*/, LiveSink& /*out*/) {}
  // The sampler gives up the thread of a hanging Tick. If the call returns later, it must touch nothing outside the
  // lane.
  virtual void Abandon() {}

  // How long the calls of the lane took, one entry per function that was called. Not while it ticks.
  [[nodiscard]] virtual std::vector<CallTimes> Calls() const { return {}; }
};

}  // namespace idleburn
