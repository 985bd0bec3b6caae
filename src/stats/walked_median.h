#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <vector>

namespace idleburn {

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

}  // namespace idleburn
