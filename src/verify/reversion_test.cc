#include "verify/reversion.h"

#include <gtest/gtest.h>

#include <cmath>
#include <vector>

namespace idleburn {
namespace {

// Untouched: (1,2) (2,2) (3,5), a line of slope 1.5 through (2,3), residuals .5 -1 .5, so s^2 = 1.5 on one degree of
// freedom. Chosen: first 0, second 1.
TEST(ReversionTest, IsItsFormulaByHand) {
  const std::vector<JobPair> jobs = {{1, 2, false}, {2, 2, false}, {3, 5, false}, {0, 1, true}};
  const std::optional<ReversionReading> reading = ReadReversion(jobs, 0.95);
  ASSERT_TRUE(reading);
  EXPECT_NEAR(reading->slope, 1.5, 1e-12);
  EXPECT_NEAR(reading->slope_error, std::sqrt(1.5 / 2), 1e-12);
  EXPECT_NEAR(reading->raw_change, 1, 1e-12);
  EXPECT_NEAR(reading->expected_change, (3 - 2) + (1 - 1.5) * (2 - 0), 1e-12);
  EXPECT_NEAR(reading->net_error, std::sqrt(1.5 * (1 + 1.0 / 3 + 4.0 / 2)), 1e-12);
  EXPECT_EQ(reading->df, 1);
  EXPECT_EQ(reading->verdict, Verdict::kNotShown);
  const ExpectedReversion expected = AsExpected(*reading);
  EXPECT_NEAR(expected.error, std::sqrt(1.5 * (1.0 / 3 + 4.0 / 2)), 1e-12);
  EXPECT_NEAR(expected.log_ratio, 0, 1e-12);
}

TEST(ReversionTest, NeedsJobsOfBothKinds) {
  EXPECT_FALSE(ReadReversion(std::vector<JobPair>{{1, 2, false}, {2, 2, false}, {3, 5, false}}, 0.95));
  EXPECT_FALSE(ReadReversion(std::vector<JobPair>{{1, 2, false}, {2, 2, false}, {0, 1, true}}, 0.95));
  EXPECT_FALSE(ReadReversion(std::vector<JobPair>{{1, 2, false}, {1, 3, false}, {1, 4, false}, {0, 1, true}}, 0.95));
}

}  // namespace
}  // namespace idleburn
