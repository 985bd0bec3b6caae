#include "stats/welch.h"

#include <gtest/gtest.h>

#include <array>

namespace idleburn {
namespace {

TEST(WelchTest, IsItsFormulaByHand) {
  // (3 + 1)^2 / (3^2/2 + 1^2/6)
  EXPECT_NEAR(WelchDf(std::array<VarianceTerm, 2>{{{3, 2}, {1, 6}}}), 16 / (9.0 / 2 + 1.0 / 6), 1e-12);
  EXPECT_NEAR(TotalVariance(std::array<VarianceTerm, 2>{{{3, 2}, {1, 6}}}), 4, 1e-12);
}

TEST(WelchTest, EqualTermsAddTheirDegrees) {
  EXPECT_NEAR(WelchDf(std::array<VarianceTerm, 2>{{{2, 4}, {2, 4}}}), 8, 1e-12);
  EXPECT_NEAR(WelchDf(std::array<VarianceTerm, 2>{{{1e-200, 4}, {1e-200, 4}}}), 8, 1e-12);
}

TEST(WelchTest, ATermOfNothingAddsNothing) {
  EXPECT_NEAR(WelchDf(std::array<VarianceTerm, 2>{{{2, 4}, {0, 1}}}), 4, 1e-12);
  EXPECT_EQ(WelchDf(std::array<VarianceTerm, 1>{{{0, 5}}}), 1);
}

}  // namespace
}  // namespace idleburn
