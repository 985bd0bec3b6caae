#include "stats/walked_median.h"

#include <gtest/gtest.h>

#include "stats/quantile.h"
#include "support/property.h"

namespace idleburn {
namespace {

double MedianOf(const std::vector<std::int64_t>& values) {
  WalkedMedian median;
  for (const std::int64_t v : values) median.Count(v);
  if (!median.Narrow()) return median.Value();
  for (const std::int64_t v : values) median.Collect(v);
  return median.Value();
}

void IsThatOfSortedValues() {
  std::vector<std::int64_t> values;
  const int n = *rc::gen::inRange(1, 40);
  for (int i = 0; i < n; ++i) {
    // Of any magnitude, and often near each other or the same.
    const std::int64_t least = std::int64_t{1} << *rc::gen::inRange(0, 50);
    values.push_back(least + *rc::gen::inRange<std::int64_t>(-3, 3));
  }
  RC_ASSERT(MedianOf(values) == Median(std::vector<double>(values.begin(), values.end())));
}

TEST(WalkedMedianTest, IsThatOfSortedValues) { test::ExpectProperty("median of two walks", IsThatOfSortedValues); }

TEST(WalkedMedianTest, ByHand) {
  EXPECT_EQ(MedianOf({7}), 7);
  EXPECT_EQ(MedianOf({0, 9'000'000'000'000'000'000}), 4.5e18);
  EXPECT_EQ(MedianOf({5'000'001, 5'000'000, 5'000'003, 5'000'002}), 5'000'001.5);
  EXPECT_EQ(MedianOf({-5, -3, 2}), -3);
}

}  // namespace
}  // namespace idleburn
