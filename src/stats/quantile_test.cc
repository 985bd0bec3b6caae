#include "stats/quantile.h"

#include <gtest/gtest.h>

#include <array>

namespace idleburn {
namespace {

// numpy.quantile([1, 2, 4, 8], p)
TEST(SortedQuantile, InterpolatesLikeTypeSeven) {
  constexpr std::array<double, 4> kValues = {1, 2, 4, 8};
  EXPECT_DOUBLE_EQ(SortedQuantile(kValues, 0), 1);
  EXPECT_DOUBLE_EQ(SortedQuantile(kValues, 0.25), 1.75);
  EXPECT_DOUBLE_EQ(SortedQuantile(kValues, 0.5), 3);
  EXPECT_DOUBLE_EQ(SortedQuantile(kValues, 0.95), 7.4);
  EXPECT_DOUBLE_EQ(SortedQuantile(kValues, 1), 8);
}

TEST(SortedQuantile, OfOneValueIsThatValue) {
  constexpr std::array<double, 1> kOne = {3};
  EXPECT_EQ(SortedQuantile(kOne, 0.05), 3);
}

TEST(Median, TakesValuesInAnyOrder) {
  EXPECT_EQ(Median({8, 1, 4}), 4);
  EXPECT_EQ(Median({8, 1, 4, 2}), 3);
}

}  // namespace
}  // namespace idleburn
