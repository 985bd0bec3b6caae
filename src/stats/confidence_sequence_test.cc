#include "stats/confidence_sequence.h"

#include <gtest/gtest.h>

#include <cmath>

namespace idleburn {
namespace {

// n rho^2 + 1 = 10: sqrt(10 / (10,000 x 0.09) x ln(10 / 0.0025)) = sqrt(0.0111111 x 8.294050).
TEST(ConfidenceSequenceTest, IsItsFormulaByHand) {
  EXPECT_NEAR(SequenceHalfWidth(100, 1, 0.05), 0.3035718, 1e-6);
  EXPECT_NEAR(SequenceHalfWidth(100, 2, 0.05), 2 * 0.3035718, 2e-6);
}

// What looking again and again costs: at every n it is wider than a look once would be, by 1.4 to 2.
TEST(ConfidenceSequenceTest, IsWiderThanOneLook) {
  for (const double n : {20.0, 50.0, 200.0, 2000.0}) {
    const double once = 1.959964 / std::sqrt(n);
    EXPECT_GT(SequenceHalfWidth(n, 1, 0.05), 1.4 * once) << n;
    EXPECT_LT(SequenceHalfWidth(n, 1, 0.05), 2.1 * once) << n;
  }
}

}  // namespace
}  // namespace idleburn
