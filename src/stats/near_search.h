#pragma once

#include <algorithm>
#include <cstddef>

namespace idleburn {

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
