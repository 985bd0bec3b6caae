#include "verify/switchback.h"

#include <gtest/gtest.h>

#include <cmath>

#include "verify/measured_run.h"

namespace idleburn {
namespace {

// A block of `rows` rows from second `begin` on, of which the first takes ten times as long: a cache warms up.
MeasuredRun Block(double begin, std::size_t rows, double ratio) {
  MeasuredRun run;
  run.name = "block";
  run.unit = WorkUnit::kStep;
  run.start = Instant::FromNanos(static_cast<std::int64_t>(begin * 1e9));
  WorkPiece& piece = run.pieces.emplace_back();
  for (std::size_t i = 0; i < rows; ++i) {
    piece.push_back({*run.start + Nanos(static_cast<std::int64_t>(i + 1) * kNanosPerSecond),
                     ratio * (i == 0 ? 10 : 1 + 0.01 * static_cast<double>(i * 7 % 5)), 1});
  }
  const WorkRow sum = SumOf(piece);
  run.gpu_seconds = sum.gpu_seconds;
  run.work = sum.work;
  return run;
}

TEST(SwitchbackTest, DropsTheWashoutAfterASwitchOnly) {
  // before, after | after, before: the second block after is no switch.
  const std::vector<MeasuredRun> before = {Block(0, 21, 1), Block(300, 21, 1)};
  const std::vector<MeasuredRun> after = {Block(100, 21, 0.8), Block(200, 21, 0.8)};
  const std::optional<SwitchbackReading> reading = ReadSwitchback(before, after);
  ASSERT_TRUE(reading);
  ASSERT_EQ(reading->log_ratios.size(), 2U);
  EXPECT_EQ(reading->after[0].work, 18);  // a tenth of 21, rounded up
  EXPECT_EQ(reading->after[1].work, 21);
  EXPECT_NEAR(reading->log_ratios[0], std::log(0.8), 1e-12);
  EXPECT_FALSE(reading->one_order);
  EXPECT_TRUE(reading->washout_dropped);
}

TEST(SwitchbackTest, BlocksInAnyOrderArePairedByTime) {
  const std::vector<MeasuredRun> before = {Block(400, 20, 1), Block(0, 20, 2), Block(200, 20, 1)};
  const std::vector<MeasuredRun> after = {Block(100, 20, 1.6), Block(500, 20, 0.8), Block(300, 20, 0.8)};
  const std::optional<SwitchbackReading> reading = ReadSwitchback(before, after);
  ASSERT_EQ(reading->log_ratios.size(), 3U);
  EXPECT_EQ(reading->unpaired, 0);
  for (const double value : reading->log_ratios) EXPECT_NEAR(value, std::log(0.8), 0.05);
}

TEST(SwitchbackTest, WithoutDatesThereAreNoPairs) {
  std::vector<MeasuredRun> before = {Block(0, 20, 1)};
  before[0].start.reset();
  EXPECT_FALSE(ReadSwitchback(before, before));
}

TEST(SwitchbackTest, ALoneBlockIsLeftOut) {
  const std::vector<MeasuredRun> before = {Block(0, 20, 1), Block(200, 20, 1)};
  const std::vector<MeasuredRun> after = {Block(100, 20, 0.8)};
  EXPECT_EQ(ReadSwitchback(before, after)->unpaired, 1);
}

// A baseline in which a switchback would find what is not there is rare: the share stays near the level's.
TEST(SwitchbackTest, ThePlaceboFindsNothing) {
  Random noise(21);
  MeasuredRun run = Block(0, 800, 1);
  for (WorkRow& row : run.pieces[0]) row.gpu_seconds = 1 + 0.1 * noise.Normal();
  const std::vector<RunEstimate> runs = {EstimateRun(run)};
  Random random(1);
  const std::optional<PlaceboTest> placebo = PlaceboOver(runs, 0.95, random);
  ASSERT_TRUE(placebo);
  EXPECT_EQ(placebo->labellings, 200);
  EXPECT_GE(placebo->blocks, 16);
  EXPECT_LT(placebo->excluding_zero, 0.12);
  run.pieces[0].resize(30);
  const std::vector<RunEstimate> few = {EstimateRun(run)};
  EXPECT_FALSE(PlaceboOver(few, 0.95, random));
}

}  // namespace
}  // namespace idleburn
