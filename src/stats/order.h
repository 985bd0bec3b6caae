#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <span>
#include <vector>

namespace idleburn {

// The p-quantile (0 <= p <= 1) of values in ascending order, interpolated between the two nearest (Hyndman and Fan's
// type 7, the default of R and NumPy). At least one value.
double SortedQuantile(std::span<const double> ascending, double p);

// Of values in any order. At least one value.
double Median(std::vector<double> values);

// The median of integers that can be walked over twice. The first walk counts them by size, the second looks at those
// around the middle one by one: its memory does not follow their number, and the result is exact. Small values, and
// sizes of one value each, need no second walk.
class WalkedMedian {
 public:
  // Each value, in the first walk.
  void Count(std::int64_t value);
  // After it. False: the median is known.
  [[nodiscard]] bool Narrow();
  // Each value again. Where it is known already, this changes nothing.
  void Collect(std::int64_t value);

  [[nodiscard]] std::int64_t count() const { return count_; }
  // The mean of the two in the middle where their number is even. At least one value.
  [[nodiscard]] double Value() const;

 private:
  struct Size {
    std::int64_t count = 0;
    std::int64_t least = 0;
    std::int64_t most = 0;
  };
  std::vector<std::uint32_t> small_;             // how often each, in the first walk
  std::map<std::size_t, Size> large_;            // of values beyond
  std::map<std::int64_t, std::int64_t> middle_;  // how often each, around the middle
  std::int64_t count_ = 0;
  std::int64_t before_ = 0;  // values that are less than all of those
  bool collect_ = false;
  std::size_t first_size_ = 0;
  std::size_t last_size_ = 0;
};

// Of n things in order, the first for which `before` does not hold; n if there is none. Looks at few of them if `guess`
// is near.
template <typename Before>
std::size_t PartitionPointNear(std::size_t n, std::size_t guess, Before before) {
  std::size_t low = 0;
  std::size_t high = n;
  guess = std::min(guess, n);
  if (guess < n && before(guess)) {
    low = guess + 1;
    for (std::size_t step = 1; low < n; step *= 2) {
      const std::size_t probe = std::min(n - 1, low + step - 1);
      if (!before(probe)) {
        high = probe;
        break;
      }
      low = probe + 1;
    }
  } else {
    high = guess;
    for (std::size_t step = 1; high > 0; step *= 2) {
      const std::size_t probe = high - std::min(high, step);
      if (before(probe)) {
        low = probe + 1;
        break;
      }
      high = probe;
    }
  }
  while (low < high) {
    const std::size_t middle = low + (high - low) / 2;
    if (before(middle)) {
      low = middle + 1;
    } else {
      high = middle;
    }
  }
  return low;
}

// Where `value` lies among n that spread evenly from `first` to `last`: a guess.
inline std::size_t EvenGuess(std::size_t n, double first, double last, double value) {
  if (!(value > first) || !(last > first)) return 0;
  return static_cast<std::size_t>(static_cast<double>(n) * std::min((value - first) / (last - first), 1.0));
}

}  // namespace idleburn
