#include "verify/measured_run.h"

#include <gtest/gtest.h>

namespace idleburn {

namespace {

Instant Second(int s) { return Instant::FromNanos(s * kNanosPerSecond); }

WorkPiece Rows(const std::vector<std::pair<double, double>>& values) {
  WorkPiece rows;
  for (const auto& [gpu_seconds, work] : values) {
    rows.push_back({Second(static_cast<int>(rows.size()) + 1), gpu_seconds, work});
  }
  return rows;
}

void ExpectSameSum(const WorkPiece& a, const WorkPiece& b) {
  EXPECT_NEAR(SumOf(a).gpu_seconds, SumOf(b).gpu_seconds, 1e-9);
  EXPECT_NEAR(SumOf(a).work, SumOf(b).work, 1e-9);
}

// A counter scraped each second that moves every third.
TEST(RunRowsTest, ACounterPolledFasterThanItMovesIsReadWhenItMoves) {
  const WorkPiece polled = Rows({{1, 0}, {1, 0}, {1, 30}, {1, 0}, {1, 0}, {1, 33}, {1, 0}});
  const WorkPiece merged = MergeRepeated(polled);
  ASSERT_EQ(merged.size(), 3U);
  EXPECT_EQ(merged[0].gpu_seconds, 3);
  EXPECT_EQ(merged[0].work, 30);
  EXPECT_EQ(merged[0].end, Second(3));
  EXPECT_EQ(merged[1].work, 33);
  EXPECT_EQ(merged[2].work, 0);  // the tail is time too
  ExpectSameSum(merged, polled);
}

// A 1 Hz gauge polled at 2 Hz.
TEST(RunRowsTest, AGaugePolledFasterThanItChangesIsOneReading) {
  const WorkPiece polled = Rows({{1, 5}, {1, 5}, {1, 7}, {1, 7}, {1, 6}, {1, 6}});
  const WorkPiece merged = MergeRepeated(polled);
  ASSERT_EQ(merged.size(), 3U);
  EXPECT_EQ(merged[1].work, 14);
  ExpectSameSum(merged, polled);
}

TEST(RunRowsTest, EqualStepsStayApart) {
  EXPECT_EQ(MergeRepeated(WorkPiece(Rows(std::vector<std::pair<double, double>>(40, {1, 5})))).size(), 40U);
  EXPECT_EQ(MergeRepeated(Rows({{1, 5}, {1, 6}, {1, 6}, {1, 7}, {1, 5}, {1, 4}})).size(), 6U);
  EXPECT_TRUE(MergeRepeated({}).empty());
}

TEST(RunRowsTest, AReadingOfTheSameInstantCountsOnce) {
  WorkPiece rows = Rows({{1, 5}, {1, 6}, {1, 7}});
  rows.insert(rows.begin() + 1, rows[0]);
  EXPECT_EQ(MergeRepeated(rows).size(), 3U);
}

TEST(RunRowsTest, SumsToAboutAThousandRowsAndLosesNone) {
  for (const std::size_t n : {10U, 999U, 1000U, 1001U, 1999U, 36000U, 36001U}) {
    WorkPiece rows(n);
    for (std::size_t i = 0; i < n; ++i) rows[i] = {Second(static_cast<int>(i)), 1, static_cast<double>(i)};
    const std::vector<WorkPiece> summed = SumRows({rows});
    ASSERT_EQ(summed.size(), 1U);
    EXPECT_LE(summed[0].size(), 1000U) << n;
    EXPECT_GE(summed[0].size(), std::min<std::size_t>(n, 500)) << n;
    EXPECT_EQ(summed[0].back().end, rows.back().end);
    ExpectSameSum(summed[0], rows);
  }
}

TEST(RunRowsTest, SumsWithinPiecesOnly) {
  const WorkPiece rows(1500, WorkRow{Second(0), 1, 1});
  const std::vector<WorkPiece> summed = SumRows({rows, WorkPiece(3, WorkRow{Second(0), 1, 1}), {}});
  ASSERT_EQ(summed.size(), 2U);
  EXPECT_EQ(summed[0].size(), 750U);
  ASSERT_EQ(summed[1].size(), 1U);
  EXPECT_EQ(summed[1][0].work, 3);
}

TEST(RunRowsTest, TimeBetweenRowsLeavesGapsOut) {
  const WorkPiece first = {{Second(0), 1, 1}, {Second(2), 1, 1}, {Second(4), 1, 1}};
  const WorkPiece second = {{Second(100), 1, 1}, {Second(102), 1, 1}};
  EXPECT_DOUBLE_EQ(SecondsBetweenRows({first, second}), 2);
  EXPECT_EQ(SecondsBetweenRows({{{Second(0), 1, 1}}}), 0);
}

}  // namespace

}  // namespace idleburn
