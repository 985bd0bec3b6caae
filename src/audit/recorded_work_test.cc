#include "audit/recorded_work.h"

#include <gtest/gtest.h>

namespace idleburn {
namespace {

constexpr std::int64_t kBegin = 1'700'000'000;

Instant At(double seconds) {
  return Instant::FromNanos(kBegin * kNanosPerSecond + static_cast<std::int64_t>(seconds * 1e9));
}

// A command on two GPUs, read 10 times a second but for `silent`.
struct Recorded {
  RecordedWork work;
  Recorded(double seconds, double silent_from = -1, double silent_to = -1) {
    work.OnFact({"command", "python train.py"});
    work.OnFact(RunWindow::StartFact(At(0)));
    work.OnFact(RunWindow::EndFact(At(seconds)));
    for (int i = 0; i <= static_cast<int>(seconds * 10); ++i) {
      if (i / 10.0 > silent_from && i / 10.0 < silent_to) continue;
      Sample sample;
      sample.time = At(i / 10.0);
      work.OnSamples({&sample, 1});
    }
  }
  void Steps(double at, std::int64_t steps, std::int32_t rank = 0) {
    WorkMark mark;
    mark.time = At(at);
    mark.rank = rank;
    mark.done[WorkUnit::kStep] = steps;
    mark.done[WorkUnit::kSample] = steps * 32;
    work.OnWork(mark);
  }
  [[nodiscard]] CountedRun Filled() const {
    CountedRun counted;
    work.Fill(2, counted);
    return counted;
  }
};

TEST(RecordedWorkTest, RowsHoldAllTimeAndAllWork) {
  Recorded recorded(10);
  for (int i = 1; i <= 90; ++i) recorded.Steps(0.1 * i, i);
  const CountedRun counted = recorded.Filled();
  EXPECT_DOUBLE_EQ(counted.run.gpu_seconds, 20);
  EXPECT_EQ(counted.total[static_cast<std::size_t>(WorkUnit::kStep)], 90);
  EXPECT_EQ(counted.total[static_cast<std::size_t>(WorkUnit::kSample)], 90 * 32);
  EXPECT_FALSE(counted.Counts(WorkUnit::kToken));
  ASSERT_EQ(counted.pieces.size(), 1U);
  double gpu_seconds = 0;
  double steps = 0;
  for (const CountedRow& row : counted.pieces[0]) {
    gpu_seconds += row.gpu_seconds;
    steps += row.work[static_cast<std::size_t>(WorkUnit::kStep)];
    EXPECT_GE(row.gpu_seconds, 2 * 0.999);
  }
  EXPECT_NEAR(gpu_seconds, 20, 1e-9);
  EXPECT_EQ(steps, 90);
  EXPECT_TRUE(counted.run.doubts.empty());
}

TEST(RecordedWorkTest, SamplesOfRanksAddUpAndTheirStepsDoNot) {
  Recorded recorded(4);
  for (int i = 1; i <= 3; ++i) {
    recorded.Steps(i, i, 0);
    recorded.Steps(i, i, 1);
  }
  const CountedRun counted = recorded.Filled();
  EXPECT_EQ(counted.total[static_cast<std::size_t>(WorkUnit::kStep)], 3);
  EXPECT_EQ(counted.total[static_cast<std::size_t>(WorkUnit::kSample)], 2 * 3 * 32);
}

TEST(RecordedWorkTest, AGapCutsThePieceAndStaysInTheTotals) {
  Recorded recorded(20, 8, 13);
  for (int i = 1; i <= 20; ++i) {
    if (i <= 8 || i >= 13) recorded.Steps(i, i);
  }
  const CountedRun counted = recorded.Filled();
  ASSERT_EQ(counted.pieces.size(), 2U);
  EXPECT_EQ(counted.pieces[0].size(), 8U);
  EXPECT_EQ(counted.pieces[1].size(), 7U);  // 14 to 20: the row that ends at 13 lies across
  EXPECT_EQ(counted.total[static_cast<std::size_t>(WorkUnit::kStep)], 20);
  EXPECT_DOUBLE_EQ(counted.run.gpu_seconds, 40);
}

TEST(RecordedWorkTest, ACountThatGoesBackIsADoubt) {
  Recorded recorded(10);
  recorded.Steps(1, 50);
  recorded.Steps(2, 3);
  const CountedRun counted = recorded.Filled();
  ASSERT_EQ(counted.run.doubts.size(), 1U);
  EXPECT_EQ(counted.run.doubts[0].id, "work_counter_restarted");
  EXPECT_EQ(counted.run.doubts[0].sentence,
            "its count of steps goes back at 2023-11-14T22:13:22Z: the work started over");
}

TEST(RecordedWorkTest, MarkersReplaceWhatLinesSaid) {
  Recorded recorded(10);
  recorded.Steps(1, 50);
  WorkMark nothing;
  nothing.time = At(2);
  recorded.work.OnWork(nothing);
  recorded.Steps(3, 30);
  recorded.Steps(9, 90);
  const CountedRun counted = recorded.Filled();
  EXPECT_TRUE(counted.run.doubts.empty());
  EXPECT_EQ(counted.total[static_cast<std::size_t>(WorkUnit::kStep)], 90);
}

TEST(RecordedWorkTest, WorkOfBeforeARecordingIsNotCounted) {
  RecordedWork work;
  work.OnFact(RunWindow::StartFact(At(0)));
  work.OnFact(RunWindow::EndFact(At(10)));
  for (int i = 1; i <= 10; ++i) {
    WorkMark mark;
    mark.time = At(i);
    mark.done[WorkUnit::kStep] = 1000 + i;
    work.OnWork(mark);
  }
  CountedRun counted;
  work.Fill(1, counted);
  EXPECT_EQ(counted.total[static_cast<std::size_t>(WorkUnit::kStep)], 9);
  EXPECT_DOUBLE_EQ(counted.run.gpu_seconds, 9);
}

TEST(RecordedWorkTest, WithoutMarksOnlyTheTimeIsKnown) {
  const CountedRun counted = Recorded(10).Filled();
  EXPECT_DOUBLE_EQ(counted.run.gpu_seconds, 20);
  EXPECT_FALSE(counted.In(std::nullopt).unit.has_value());
}

}  // namespace
}  // namespace idleburn
