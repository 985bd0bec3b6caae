#include "verify/counted_run.h"

#include <gtest/gtest.h>

namespace idleburn {
namespace {

constexpr auto kSteps = static_cast<std::size_t>(WorkUnit::kStep);
constexpr auto kSamples = static_cast<std::size_t>(WorkUnit::kSample);

CountedRun Counting(std::initializer_list<WorkUnit> units) {
  CountedRun run;
  for (const WorkUnit unit : units) run.total[static_cast<std::size_t>(unit)] = 10;
  return run;
}

TEST(CountedRunTest, SamplesGoBeforeSteps) {
  const std::vector<CountedRun> runs = {Counting({WorkUnit::kStep, WorkUnit::kSample}),
                                        Counting({WorkUnit::kSample, WorkUnit::kStep, WorkUnit::kToken})};
  EXPECT_EQ(CommonUnit(runs), WorkUnit::kSample);
}

TEST(CountedRunTest, WithoutACommonUnitThereIsNone) {
  const std::vector<CountedRun> runs = {Counting({WorkUnit::kStep}), Counting({WorkUnit::kSample})};
  EXPECT_FALSE(CommonUnit(runs).has_value());
  EXPECT_EQ(runs[0].In(CommonUnit(runs)).unit, WorkUnit::kStep);
  EXPECT_EQ(runs[1].In(WorkUnit::kStep).unit, WorkUnit::kSample);
  EXPECT_FALSE(CountedRun{}.In(WorkUnit::kStep).unit.has_value());
}

TEST(CountedRunTest, RowsAreOfTheUnit) {
  CountedRun run = Counting({WorkUnit::kStep, WorkUnit::kSample});
  CountedRow row;
  row.gpu_seconds = 4;
  row.work[kSteps] = 1;
  row.work[kSamples] = 32;
  run.pieces = {{row, row}};
  const MeasuredRun samples = run.In(WorkUnit::kSample);
  ASSERT_EQ(samples.pieces.size(), 1U);
  EXPECT_EQ(samples.pieces[0].at(1).work, 32);
  EXPECT_EQ(run.In(WorkUnit::kStep).pieces[0].at(0).work, 1);
}

CountedRow Row(double end, double gpu_seconds) {
  return {Instant::FromNanos(static_cast<std::int64_t>(end * 1e9)), gpu_seconds, {}};
}

TEST(CutAtGapsTest, CutsWhereTimeIsMissing) {
  std::vector<CountedRow> rows;
  for (int i = 1; i <= 10; ++i) rows.push_back(Row(i, 8));
  for (int i = 1; i <= 10; ++i) rows.push_back(Row(20 + i, 8));
  const auto pieces = CutAtGaps(rows);
  ASSERT_EQ(pieces.size(), 2U);
  EXPECT_EQ(pieces[0].size(), 10U);
}

// A long step is no gap: its GPU-seconds say so. Nor is a row that cost little in the same time.
TEST(CutAtGapsTest, LongRowsAreNoGaps) {
  std::vector<CountedRow> rows;
  double at = 0;
  for (int i = 0; i < 40; ++i) {
    const double seconds = i % 20 == 19 ? 20 : 1;
    at += seconds;
    rows.push_back(Row(at, 8 * seconds));
  }
  EXPECT_EQ(CutAtGaps(rows).size(), 1U);
  rows.clear();
  for (int i = 1; i <= 40; ++i) rows.push_back(Row(i, i % 3 == 0 ? 0.1 : 8));
  EXPECT_EQ(CutAtGaps(rows).size(), 1U);
}

TEST(CutAtGapsTest, FewRowsAreOnePiece) {
  EXPECT_TRUE(CutAtGaps({}).empty());
  EXPECT_EQ(CutAtGaps({Row(1, 1)}).size(), 1U);
}

}  // namespace
}  // namespace idleburn
