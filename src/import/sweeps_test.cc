#include "import/sweeps.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "support/sweep_log.h"

namespace idleburn {
namespace {

using testing::MakeSweepLog;
using testing::SweepLog;
using testing::SweepLogPlan;

struct Outcome {
  int gpus = 0;
  std::string error;
  std::vector<Sample> placed;
  std::int64_t dropped = 0;
};

Outcome Read(const std::vector<Sample>& rows, std::optional<int> said = {}) {
  SweepIdentity sweeps(said);
  Outcome outcome;
  const auto note = [&](const Result<void>& result) {
    if (!result) outcome.error = result.error().message;
    return outcome.error.empty();
  };
  for (std::size_t i = 0; i < rows.size(); ++i) {
    if (!note(sweeps.Add(rows[i], static_cast<std::int64_t>(i) + 2))) return outcome;
  }
  if (!note(sweeps.Finish())) return outcome;
  outcome.gpus = sweeps.gpus();
  outcome.placed = sweeps.TakePlaced();
  outcome.dropped = sweeps.dropped() + sweeps.cut_off();
  return outcome;
}

Outcome ReadPlan(const SweepLogPlan& plan, std::uint64_t seed = 1, std::optional<int> said = {}) {
  std::mt19937_64 random(seed);
  return Read(MakeSweepLog(plan, random).rows, said);
}

// The truth of a row travels in a signal that nothing looks at.
void MarkTruth(SweepLog& log) {
  for (std::size_t i = 0; i < log.rows.size(); ++i) log.rows[i].Set(Signal::kEncoderUtilization, log.gpu[i]);
}

std::size_t WronglyPlaced(const std::vector<Sample>& placed) {
  return static_cast<std::size_t>(std::count_if(placed.begin(), placed.end(), [](const Sample& row) {
    return row.Get(Signal::kEncoderUtilization) != static_cast<std::int64_t>(row.device);
  }));
}

TEST(SweepIdentityTest, ACountIsRightOrRefused) {
  int right = 0;
  for (std::uint64_t seed = 0; seed < 400; ++seed) {
    std::mt19937_64 random(seed);
    const SweepLogPlan plan = testing::RandomSweepLogPlan(random);
    SweepLog log = MakeSweepLog(plan, random);
    MarkTruth(log);
    const Outcome outcome = Read(log.rows);
    if (!outcome.error.empty()) {
      EXPECT_NE(outcome.error.find("add `index,uuid` to --query-gpu, or pass `--gpus N`"), std::string::npos);
      continue;
    }
    ++right;
    EXPECT_EQ(outcome.gpus, plan.gpus) << "seed " << seed << ": " << Describe(plan);
    EXPECT_EQ(outcome.placed.size() + static_cast<std::size_t>(outcome.dropped), log.rows.size());
    EXPECT_LE(WronglyPlaced(outcome.placed), 2 + outcome.placed.size() / 200) << "seed " << seed << Describe(plan);
  }
  EXPECT_GT(right, 40);  // most of these logs prove nothing
}

// What people have: milliseconds, a few rows late or missing.
TEST(SweepIdentityTest, UsualLogsAreCounted) {
  for (const int gpus : {1, 2, 3, 4, 7, 8, 16}) {
    for (const std::int64_t period_ms : {100, 1000, 15'000}) {
      SweepLogPlan plan;
      plan.gpus = gpus;
      plan.sweeps = 3000;
      plan.period_ns = period_ms * 1'000'000;
      plan.query_ns = period_ms == 100 ? 400'000 : 2'000'000;
      plan.late = 0.005;
      plan.missing = 0.0005;
      const Outcome outcome = ReadPlan(plan);
      EXPECT_EQ(outcome.error, "") << Describe(plan);
      EXPECT_EQ(outcome.gpus, gpus) << Describe(plan);
    }
  }
}

TEST(SweepIdentityTest, ALoggerThatStartsAgainWithinASweepGoesOnWithTheFirstGpu) {
  SweepLogPlan plan;
  plan.gpus = 8;
  plan.sweeps = 2000;
  plan.restarts = {700, 1400};
  plan.hole_ns = 7200 * kNanosPerSecond;
  std::mt19937_64 random(5);
  SweepLog log = MakeSweepLog(plan, random);
  MarkTruth(log);
  const Outcome outcome = Read(log.rows);
  ASSERT_EQ(outcome.error, "");
  EXPECT_EQ(outcome.gpus, 8);
  EXPECT_EQ(WronglyPlaced(outcome.placed), 0U);
}

TEST(SweepIdentityTest, AGpuLostMidwayIsRefusedWithTheLine) {
  SweepLogPlan plan;
  plan.gpus = 8;
  plan.sweeps = 2000;
  plan.lost = 3;
  plan.lost_at = 1900;
  const std::string error = ReadPlan(plan).error;
  EXPECT_EQ(error.rfind(std::to_string(8 * 1900 + 2) + ": sweeps from here on do not have 8 rows like the others", 0),
            0U)
      << error;
  plan.lost_at = 1000;
  EXPECT_NE(ReadPlan(plan).error, "");
}

// One GPU ten times a second under stamps of whole seconds looks like ten GPUs.
TEST(SweepIdentityTest, WholeSecondsProveNothingByThemselves) {
  SweepLogPlan one;
  one.gpus = 1;
  one.sweeps = 3000;
  one.period_ns = kNanosPerSecond / 10;
  one.grain_ns = kNanosPerSecond;
  one.load = 1;
  EXPECT_NE(ReadPlan(one).error.find("--gpus N"), std::string::npos);
  EXPECT_EQ(ReadPlan(one, 1, 1).gpus, 1);
  SweepLogPlan four;
  four.gpus = 4;
  four.grain_ns = kNanosPerSecond;
  EXPECT_EQ(ReadPlan(four).gpus, 4);  // by their memory
  four.alike = true;
  four.has_power = false;
  EXPECT_NE(ReadPlan(four).error.find("the time stamps are too coarse"), std::string::npos);
  EXPECT_EQ(ReadPlan(four, 1, 4).gpus, 4);
}

TEST(SweepIdentityTest, EvenRowsOfSeveralGpusAreNotOneGpu) {
  SweepLogPlan plan;
  plan.gpus = 4;
  plan.sweeps = 2000;
  plan.period_ns = 400'000'000;
  plan.query_ns = 100'000'000;
  EXPECT_NE(ReadPlan(plan).error, "");
}

// Multiples of such a distance do not fit 64 bits.
TEST(SweepIdentityTest, AStampOfAnotherCenturyIsABreak) {
  Sample before;
  Sample row;
  row.time = Instant::FromNanos(180 * 365 * 24 * kNanosPerHour);
  EXPECT_EQ(Apart(before, row), 30 * 24 * kNanosPerHour);
  std::vector<Sample> rows(4);
  for (std::size_t i = 1; i < rows.size(); ++i) {
    rows[i].time = Instant::FromNanos(static_cast<std::int64_t>(i) * kNanosPerSecond);
  }
  rows.back().time = row.time;
  EXPECT_EQ(Read(rows).gpus, 1);
}

TEST(SweepIdentityTest, LaterRowsOfAnotherMachineAreRefused) {
  std::mt19937_64 random(9);
  SweepLogPlan plan;
  plan.gpus = 4;
  plan.sweeps = 3000;
  SweepLog log = MakeSweepLog(plan, random);
  plan.gpus = 8;
  const Nanos later = log.rows.back().time - log.rows.front().time + Nanos(kNanosPerHour);
  for (Sample row : MakeSweepLog(plan, random).rows) {
    row.time = row.time + later;
    log.rows.push_back(row);
  }
  const std::string error = Read(log.rows).error;
  EXPECT_NE(error.find("the rows from here on come from 8 GPUs, the rows before from 4 GPUs"), std::string::npos)
      << error;
}

}  // namespace

}  // namespace idleburn
