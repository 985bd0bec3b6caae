#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

namespace idleburn {

// A picture of any length of time in bounded memory: aligned buckets of 2^k seconds, at most kMaxBuckets, made coarser
// as time goes on. A Bucket is additive: it has Merge(const Bucket&).
template <typename Bucket>
struct SecondBuckets {
  static constexpr std::size_t kMaxBuckets = 1024;
  std::int64_t bucket_seconds = 1;
  std::int64_t first = 0;  // number of the first bucket: its start is first x bucket_seconds
  std::vector<Bucket> buckets;

  // The bucket of that second, growing and coarsening as needed.
  Bucket& At(std::int64_t second) {
    // Seconds mostly come in order.
    const std::int64_t last = (first + static_cast<std::int64_t>(buckets.size()) - 1) * bucket_seconds;
    if (second >= last && second - last < bucket_seconds && !buckets.empty()) return buckets.back();
    return Find(second);
  }
  // Makes every bucket twice as long.
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

}  // namespace idleburn
