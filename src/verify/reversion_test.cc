#include "verify/reversion.h"

#include <gtest/gtest.h>

#include <cmath>
#include <vector>

#include "text/line_reader.h"

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

Result<std::vector<JobPair>> Read(const std::string& text) {
  StringSource source{text};
  return ReadJobsCsv(source);
}

TEST(JobsCsvTest, ReadsEachJobOnce) {
  const auto jobs = Read("team,job,after,before,selected\nx,a,12.5,10,Yes\nx,b,-1e3, 20 ,0\n");
  ASSERT_TRUE(jobs) << jobs.error().message;
  ASSERT_EQ(jobs->size(), 2U);
  EXPECT_EQ((*jobs)[0].first, 10);
  EXPECT_EQ((*jobs)[0].second, 12.5);
  EXPECT_TRUE((*jobs)[0].chosen);
  EXPECT_EQ((*jobs)[1].first, 20);
  EXPECT_EQ((*jobs)[1].second, -1000);
  EXPECT_FALSE((*jobs)[1].chosen);
}

TEST(JobsCsvTest, WhatIsNoJobIsRefusedWithItsPlace) {
  const auto refused = [](const std::string& rows, const char* says) {
    const auto jobs = Read("job,before,after,selected\n" + rows);
    ASSERT_FALSE(jobs) << rows;
    EXPECT_NE(jobs.error().message.find(says), std::string::npos) << jobs.error().message;
  };
  refused("a,1,2,no\na,3,4,no\n", ":3: job: 'a' appears twice");
  refused("a,x,2,no\n", ":2: before: 'x' is not a number");
  refused("a,1,inf,no\n", ":2: after: 'inf' is not a number");
  refused("a,1,nan,no\n", ":2: after: 'nan' is not a number");
  refused("a,1,2e16,no\n", ":2: after: '2e16' is not a number");
  refused("a,1,2,maybe\n", ":2: selected: 'maybe' is neither yes nor no");
  refused("a,1,2\n", ":2: selected: '' is neither yes nor no");
  EXPECT_FALSE(Read("job,before,after\na,1,2\n"));
  EXPECT_FALSE(Read(""));
}

}  // namespace

}  // namespace idleburn
