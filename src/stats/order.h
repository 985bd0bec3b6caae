#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <span>
#include <vector>

namespace idleburn {

// Order statistics, and searches in sorted values. Medians and quantiles are what reports print of draws and of
// measured steps, since single wild values do not move them.

// The p-quantile of sorted values, 0 <= p <= 1. It interpolates between the two nearest values (Hyndman and Fan's type
// 7, the default of R and NumPy): the 0.5-quantile of 1, 2, 4, 8 is 3. At least one value.
double SortedQuantile(std::span<const double> ascending, double p);

// The median of values in any order. At least one value.
double Median(std::vector<double> values);

// The exact median of integers that can be visited twice, in bounded memory. The first visit counts the values by
// size class. The second visit collects only the values in the classes around the middle. Values below 2^16 have a
// class each, so they need no second visit.
//
//     Count every value; if (Narrow()) Collect every value; Value()
class WalkedMedian {
 public:
  // Takes a value in the first visit.
  void Count(std::int64_t value);
  // Ends the first visit. False if the median is known and no second visit is necessary.
  [[nodiscard]] bool Narrow();
  // Takes a value in the second visit. It has no effect if the median is known.
  void Collect(std::int64_t value);

  [[nodiscard]] std::int64_t count() const { return count_; }
  // The median. For an even count it is the mean of the two middle values. At least one value.
  [[nodiscard]] double Value() const;

 private:
  // A class of values of similar size. If all its values are equal, no second visit is needed.
  struct Size {
    std::int64_t count = 0;
    std::int64_t least = 0;
    std::int64_t most = 0;
  };
  std::vector<std::uint32_t> small_;             // counts of each small value, in the first visit
  std::map<std::size_t, Size> large_;            // classes of the other values
  std::map<std::int64_t, std::int64_t> middle_;  // counts of each value around the middle
  std::int64_t count_ = 0;
  std::int64_t before_ = 0;  // how many values are below the middle classes
  bool collect_ = false;
  std::size_t first_size_ = 0;
  std::size_t last_size_ = 0;
};

// The first of n sorted positions for which `before` is false, or n if there is none. It probes at growing distances
// from `guess`, so a good guess costs two or three probes instead of log2(n). Any guess gives the right answer.
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

// Guesses the position of `value` among n values spread evenly from `first` to `last`: 5 among 0 to 10 is n / 2.
inline std::size_t EvenGuess(std::size_t n, double first, double last, double value) {
  if (!(value > first) || !(last > first)) return 0;
  return static_cast<std::size_t>(static_cast<double>(n) * std::min((value - first) / (last - first), 1.0));
}

}  // namespace idleburn
