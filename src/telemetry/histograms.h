// Two histograms with bounded memory: one over time, one over values. Both add up exactly, so the parts of a
// file can be read in parallel and merged in any order.

#pragma once

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "telemetry/sample.h"

namespace idleburn {

// A histogram over time, in bounded memory for any duration. Buckets are aligned and 2^k seconds wide, at most
// kMaxBuckets. When time outgrows them, neighbours merge and the width doubles. Example: after 1024 s the buckets are
// 2 s wide, after three days 256 s. A Bucket is additive: it has Merge(const Bucket&).
//
// A ring of the latest seconds was no choice, because a report covers the whole run.
template <typename Bucket>
struct SecondBuckets {
  static constexpr std::size_t kMaxBuckets = 1024;
  std::int64_t bucket_seconds = 1;
  // Number of the first bucket, which starts at first x bucket_seconds.
  std::int64_t first = 0;
  std::vector<Bucket> buckets;

  // The bucket of that second. Grows and coarsens as needed.
  Bucket& At(std::int64_t second) {
    // Seconds mostly come in order.
    const std::int64_t last = (first + static_cast<std::int64_t>(buckets.size()) - 1) * bucket_seconds;
    if (second >= last && second - last < bucket_seconds && !buckets.empty()) return buckets.back();
    return Find(second);
  }
  // Doubles the width of every bucket.
  void Coarsen() {
    const std::int64_t coarse_first = FloorDiv(first, 2);
    std::vector<Bucket> coarse;
    for (std::size_t i = 0; i < buckets.size(); ++i) {
      const auto at = static_cast<std::size_t>(FloorDiv(first + static_cast<std::int64_t>(i), 2) - coarse_first);
      coarse.resize(at + 1);
      coarse[at].Merge(buckets[i]);
    }
    buckets = std::move(coarse);
    first = coarse_first;
    bucket_seconds *= 2;
  }
  friend bool operator==(const SecondBuckets&, const SecondBuckets&) = default;

 private:
  static std::int64_t FloorDiv(std::int64_t a, std::int64_t b) { return a / b - (a % b < 0 ? 1 : 0); }

  // Grows in either direction to reach the bucket of that second, and coarsens until all fit.
  Bucket& Find(std::int64_t second) {
    while (true) {
      const std::int64_t number = FloorDiv(second, bucket_seconds);
      if (buckets.empty()) first = number;
      const std::int64_t lowest = std::min(first, number);
      const std::int64_t highest = std::max(first + static_cast<std::int64_t>(buckets.size()) - 1, number);
      if (highest - lowest < static_cast<std::int64_t>(kMaxBuckets)) {
        if (lowest < first) buckets.insert(buckets.begin(), static_cast<std::size_t>(first - lowest), Bucket{});
        first = lowest;
        buckets.resize(static_cast<std::size_t>(highest - lowest + 1));
        return buckets[static_cast<std::size_t>(number - first)];
      }
      Coarsen();
    }
  }
};

// A histogram of how long a quantity had each value, in bounded memory. Values are counted in whole steps,
// rounded down. A bin is one step wide below 256 steps. Above, each octave has 128 bins, so a bin is at most
// 1/128 (0.8 %) of its value wide. Times are integers, so histograms merge exactly.
class ValueSpread {
 public:
  // Adds `ns` of time at a value of `steps` >= 0.
  void Add(std::int64_t steps, std::int64_t ns) {
    const std::size_t bin = BinOf(steps);
    // Also of a bin below the first, as the difference wraps round.
    if (bin - first_ >= ns_.size()) Reach(bin);
    ns_[bin - first_] += ns;
  }
  void Merge(const ValueSpread& o);
  // The time of all bins.
  [[nodiscard]] std::int64_t TotalNs() const;
  // The percentile in steps; absent when empty. It is the lower edge of the first bin at which the accumulated
  // time reaches `percent` of the total. So it is exact below 256 steps, and up to 0.8 % too low above.
  [[nodiscard]] std::optional<std::int64_t> Percentile(std::int64_t percent) const;
  // The time in bins that lie entirely at `steps` or above.
  [[nodiscard]] std::int64_t AtLeast(std::int64_t steps) const;
  friend bool operator==(const ValueSpread&, const ValueSpread&) = default;

 private:
  static constexpr std::int64_t kExact = 256;
  static constexpr std::size_t kBinsOfOctave = 128;
  // The bin of a value. An octave is the part between two powers of two.
  static std::size_t BinOf(std::int64_t steps) {
    const auto value = static_cast<std::uint64_t>(steps);
    const auto octave = static_cast<std::size_t>(std::bit_width(value | kBinsOfOctave)) - 8;  // 0 of exact bins
    return kBinsOfOctave * octave + static_cast<std::size_t>(value >> octave);
  }
  // The least value of a bin, and growing to hold one.
  static std::int64_t LowerEdge(std::size_t bin);
  void Reach(std::size_t bin);

  std::size_t first_ = 0;         // number of the first entry's bin
  std::vector<std::int64_t> ns_;  // from the lowest bin seen to the highest
};

// The step of a histogram for a unit. An eighth of a percent, of a watt or of a degree keeps whole values
// exact.
constexpr std::int64_t SpreadStep(Unit unit) {
  switch (unit) {
    case Unit::kMicroPercent:
      return kPercent / 8;
    case Unit::kMilliwatt:
    case Unit::kMillicelsius:
      return 125;
    case Unit::kKilohertz:
      return 1000;
    case Unit::kByte:
      return std::int64_t{1} << 20;
    case Unit::kBytePerSecond:
      return 100'000;
    case Unit::kMillijoule:
    case Unit::kMask:
    case Unit::kCount:
      break;
  }
  return 1;
}

}  // namespace idleburn
