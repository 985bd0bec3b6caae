#include "stats/moments.h"

#include <gtest/gtest.h>

#include <array>

namespace idleburn {
namespace {

// 2, 4, 9: the mean is 5, and 9 + 1 + 16 are the squares about it.
TEST(MomentsTest, AreTheirFormulasByHand) {
  const std::array<double, 3> values = {2, 4, 9};
  EXPECT_EQ(MeanOf(values), 5);
  EXPECT_EQ(SquaresAbout(values, 5), 26);
  EXPECT_EQ(SquaresAbout(values, 4), 4 + 0 + 25);
  EXPECT_EQ(VarianceOf(values), 13);
}

TEST(MomentsTest, ValuesThatAreAlikeDoNotVary) {
  EXPECT_EQ(VarianceOf(std::array<double, 2>{3, 3}), 0);
  EXPECT_EQ(SquaresAbout({}, 1), 0);
}

}  // namespace
}  // namespace idleburn
