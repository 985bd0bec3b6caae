#include "base/fraction.h"

#include <gtest/gtest.h>

namespace idleburn {
namespace {

TEST(Fraction, ThirdsAreExactAndRoundedOnce) {
  const Fraction third = Fraction::Of(1, 3);
  EXPECT_EQ(Compare(third + third + third, Fraction::Of(1, 1)), 0);
  EXPECT_EQ(third.AsMoney(), Money::Nano(333'333'333));
  EXPECT_EQ((third * Fraction::Of(2, 1)).AsMoney(), Money::Nano(666'666'667));
  EXPECT_EQ(Fraction::Of(1, 2'000'000'000).AsMoney(), Money());  // half to even
  EXPECT_EQ(Fraction::Of(3, 2'000'000'000).AsMoney(), Money::Nano(2));
}

TEST(Fraction, ADifferenceMayBeNegative) {
  const Fraction less = Fraction::Of(1, 4) - Fraction::Of(1, 2);
  EXPECT_EQ(less.AsMoney(), Money::Nano(-250'000'000));
  EXPECT_LT(Compare(less, Fraction{}), 0);
  EXPECT_GT(Compare(Fraction::Of(1, 2), less), 0);
}

TEST(Fraction, WhatLeaves128BitsSaysSo) {
  const Int128 big = static_cast<Int128>(1) << 100;
  const Fraction huge = Fraction::Of(big, 1) * Fraction::Of(big, 3);
  EXPECT_TRUE(huge.too_large);
  EXPECT_TRUE((huge / huge).too_large);
  EXPECT_TRUE((huge - huge).too_large);
  EXPECT_FALSE(huge.AsMoney());
  EXPECT_FALSE(Fraction::Of(big, 1).AsMoney());
}

}  // namespace
}  // namespace idleburn
