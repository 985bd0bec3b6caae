#include "trial/trial.h"

#include <gtest/gtest.h>

#include <cmath>
#include <utility>
#include <vector>

namespace idleburn {

namespace {

constexpr Nanos At(std::int64_t milliseconds) { return Nanos(milliseconds * 1'000'000); }

WorkCount Steps(std::int64_t n) {
  WorkCount done;
  done[WorkUnit::kStep] = n;
  return done;
}

TrialBounds Bounds(std::int64_t skip) {
  TrialBounds bounds;
  bounds.skip_steps = skip;
  bounds.patience = At(60'000);
  return bounds;
}

TEST(RateWatchTest, NeitherTheWarmUpNorAStepThatWasCutShortIsInTheRate) {
  RateWatch watch(Bounds(2), At(0));
  // Two slow steps, then one in 100 ms; looked at between them too.
  std::int64_t at = 0;
  for (std::int64_t n = 1; n <= 13; ++n) {
    at += n <= 2 ? 5000 : 100;
    watch.See(At(at), Steps(n));
    watch.See(At(at + 50), Steps(n));
  }
  const std::optional<WorkRate> rate = watch.Rate(At(at + 80));  // in the middle of a step
  ASSERT_TRUE(rate);
  EXPECT_EQ(rate->work, 10);
  EXPECT_EQ(rate->time, At(1000));
  EXPECT_DOUBLE_EQ(rate->PerSecond(), 10);
}

TEST(RateWatchTest, AStallAtTheEndCountsUnlessTheCommandEndedByItself) {
  RateWatch watch(Bounds(0), At(0));
  for (std::int64_t n = 1; n <= 11; ++n) watch.See(At(n * 100), Steps(n));
  EXPECT_DOUBLE_EQ(watch.Rate(At(5100))->PerSecond(), 2);
  EXPECT_DOUBLE_EQ(watch.Rate(std::nullopt)->PerSecond(), 10);
}

TEST(RateWatchTest, EndsAtTheFirstBoundAndWhenNothingMoves) {
  TrialBounds bounds = Bounds(1);
  bounds.steps = 5;
  bounds.time = At(1000);
  bounds.patience = At(3000);
  RateWatch by_steps(bounds, At(0));
  EXPECT_EQ(by_steps.Judge(At(2999)), RateWatch::Verdict::kGoOn);
  EXPECT_EQ(by_steps.Judge(At(3000)), RateWatch::Verdict::kStalled);
  by_steps.See(At(2900), Steps(2));
  EXPECT_EQ(by_steps.Judge(At(3500)), RateWatch::Verdict::kGoOn);
  by_steps.See(At(3550), Steps(7));
  EXPECT_EQ(by_steps.Judge(At(3550)), RateWatch::Verdict::kEnough);
  RateWatch by_time(bounds, At(0));
  by_time.See(At(100), Steps(1));
  by_time.See(At(200), Steps(2));
  EXPECT_EQ(by_time.Judge(At(1199)), RateWatch::Verdict::kGoOn);
  EXPECT_EQ(by_time.Judge(At(1200)), RateWatch::Verdict::kEnough);
}

TEST(RateWatchTest, BeginsAnewWhenAnotherUnitTakesOver) {
  RateWatch watch(Bounds(0), At(0));
  WorkCount samples;
  samples[WorkUnit::kSample] = 100;
  watch.See(At(100), samples);
  samples[WorkUnit::kSample] = 200;
  watch.See(At(200), samples);
  EXPECT_EQ(watch.Rate(std::nullopt)->unit, WorkUnit::kSample);
  watch.See(At(300), Steps(7));
  EXPECT_FALSE(watch.Rate(std::nullopt));
  watch.See(At(400), Steps(9));
  EXPECT_EQ(watch.Rate(std::nullopt)->unit, WorkUnit::kStep);
  EXPECT_DOUBLE_EQ(watch.Rate(std::nullopt)->PerSecond(), 20);
}

TEST(RateWatchTest, NothingSaidIsNoRate) {
  RateWatch watch(Bounds(0), At(0));
  watch.See(At(100), WorkCount{});
  EXPECT_FALSE(watch.count());
  watch.See(At(200), Steps(0));  // has begun
  EXPECT_FALSE(watch.measuring());
  watch.See(At(300), Steps(1));
  EXPECT_TRUE(watch.measuring());
  EXPECT_FALSE(watch.Rate(At(10'000)));
}

// Of stretches of 1, 2 and 3 steps at 100 ms a step nothing differs; of 50, 150, 100 ms a step each the standard error
// of their sum is sqrt(3) x 50 ms.
TEST(RateWatchTest, HowMuchTheStepsVaryIsInTheRate) {
  const auto error = [](const std::vector<std::pair<std::int64_t, std::int64_t>>& stretches) {
    RateWatch watch(Bounds(0), At(0));
    std::int64_t at = 100;
    std::int64_t n = 1;
    watch.See(At(at), Steps(n));
    for (const auto& [steps, milliseconds] : stretches) {
      watch.See(At(at += milliseconds), Steps(n += steps));
    }
    return watch.Rate(std::nullopt)->relative_error;
  };
  EXPECT_NEAR(error({{1, 100}, {2, 200}, {3, 300}}), 0, 1e-6);
  EXPECT_NEAR(error({{1, 50}, {1, 150}, {1, 100}}), std::sqrt(3.0) * 50 / 300, 1e-9);
  EXPECT_EQ(error({{1, 50}, {1, 150}}), 0) << "two say nothing";
  WorkRate rate;
  EXPECT_FALSE(rate.LogError(0.9));
  rate.changes = 5;
  rate.relative_error = 0.1;
  EXPECT_NEAR(*rate.LogError(0.9), 0.1 * 2.1318, 1e-5);  // t of 4 degrees of freedom at 95 %, from a printed table
}

TEST(RateWatchTest, EveryUnitIsCountedOverTheSameTime) {
  RateWatch watch(Bounds(0), At(0));
  for (std::int64_t n = 1; n <= 5; ++n) {
    WorkCount done = Steps(n);
    done[WorkUnit::kSample] = 8 * n;
    watch.See(At(100 * n), done);
  }
  const std::optional<WorkRate> rate = watch.Rate(std::nullopt);
  ASSERT_TRUE(rate);
  EXPECT_EQ(rate->done[WorkUnit::kStep], 4);
  EXPECT_EQ(rate->done[WorkUnit::kSample], 32);
  EXPECT_FALSE(rate->done[WorkUnit::kToken]);
}

// A hundred steps of 100 ms, and before the 50th the machine stands still for three seconds, in which `done` steps are
// done all the same.
std::optional<WorkRate> AroundAStall(std::int64_t done, bool stall = true) {
  RateWatch watch(Bounds(0), At(0));
  std::int64_t at = 0;
  std::int64_t n = 0;
  for (int i = 1; i <= 101; ++i) {
    at += i % 2 == 0 ? 90 : 110;
    ++n;
    if (i == 50 && stall) {
      at += 3000;
      n += done;
      watch.StoodStill(At(3000));
    }
    WorkCount said = Steps(n);
    said[WorkUnit::kSample] = 8 * n;
    watch.See(At(at), said);
  }
  return watch.Rate(At(at + 50));
}

TEST(RateWatchTest, WhereTheMachineStoodStillNeitherTimeNorWorkIsTheJobs) {
  const std::optional<WorkRate> quiet = AroundAStall(0, false);
  ASSERT_TRUE(quiet);
  EXPECT_FALSE(quiet->spoiled);
  for (const std::int64_t done : {0, 3, 29}) {
    const std::optional<WorkRate> rate = AroundAStall(done);
    ASSERT_TRUE(rate);
    EXPECT_EQ(rate->work, 99) << done;
    EXPECT_EQ(rate->done[WorkUnit::kSample], 8 * 99) << done;
    EXPECT_NEAR(rate->PerSecond(), 10, 0.02) << done;
    EXPECT_NEAR(rate->relative_error, quiet->relative_error, 0.001) << done;
    EXPECT_EQ(rate->stood_still, At(3000));
    EXPECT_TRUE(rate->spoiled) << "three of thirteen seconds";
    EXPECT_FALSE(rate->longest_wait);
  }
}

// A quarter and more of a run is too much to take out, and so is what leaves nothing to go by.
TEST(RateWatchTest, ARunThatMostlyStoodStillIsTakenAsItIs) {
  RateWatch watch(Bounds(0), At(0));
  for (int i = 1; i <= 5; ++i) watch.See(At(100 * i), Steps(i));
  watch.StoodStill(At(400));
  watch.See(At(1000), Steps(6));
  const std::optional<WorkRate> rate = watch.Rate(std::nullopt);
  ASSERT_TRUE(rate);
  EXPECT_EQ(rate->work, 5);
  EXPECT_EQ(rate->time, At(900));
  EXPECT_TRUE(rate->spoiled);
}

TEST(RateWatchTest, AShortStandstillSpoilsNothingAndIsMadeUpFor) {
  TrialBounds bounds = Bounds(0);
  bounds.time = At(10'000);
  RateWatch watch(bounds, At(0));
  for (int i = 1; i <= 100; ++i) {
    if (i == 50) watch.StoodStill(At(50));
    watch.See(At(100 * i), Steps(i));
  }
  EXPECT_FALSE(watch.Rate(std::nullopt)->spoiled);
  EXPECT_EQ(watch.Judge(At(10'100 + 99)), RateWatch::Verdict::kGoOn);  // from 100 ms on, less a stretch of 100 ms
  EXPECT_EQ(watch.Judge(At(10'100 + 100)), RateWatch::Verdict::kEnough);
  RateWatch still(bounds, At(0));  // never quiet: not for ever
  for (int i = 1; i <= 300; ++i) {
    still.StoodStill(At(60));
    still.See(At(100 * i), Steps(i));
  }
  EXPECT_EQ(still.Judge(At(30'000)), RateWatch::Verdict::kEnough);
}

// The tail is no stall of the command's if the machine stood still in it.
TEST(RateWatchTest, AStandstillAtTheEndIsLeftOut) {
  RateWatch watch(Bounds(0), At(0));
  for (std::int64_t n = 1; n <= 11; ++n) watch.See(At(n * 100), Steps(n));
  watch.StoodStill(At(3900));
  EXPECT_DOUBLE_EQ(watch.Rate(At(5100))->PerSecond(), 10);
}

// A loader fills its queue in bursts: eight steps at once, then one that waits. Its waits are its speed.
TEST(RateWatchTest, WaitsBetweenBurstsAreTheJobs) {
  RateWatch watch(Bounds(0), At(0));
  std::int64_t at = 0;
  std::int64_t n = 0;
  watch.See(At(at += 10), Steps(++n));
  for (int burst = 0; burst < 20; ++burst) {
    for (int i = 0; i < 8; ++i) watch.See(At(at += 10), Steps(++n));
    watch.See(At(at += 400), Steps(++n));
  }
  const std::optional<WorkRate> rate = watch.Rate(std::nullopt);
  EXPECT_EQ(rate->time, At(20 * 480));
  EXPECT_EQ(rate->work, 20 * 9);
  EXPECT_FALSE(rate->longest_wait);  // as usual there
}

TEST(RateWatchTest, AWaitThatStandsOutIsNamedAndStaysInTheRate) {
  RateWatch watch(Bounds(0), At(0));
  for (int i = 1; i <= 101; ++i) watch.See(At(100 * i + (i > 50 ? 6000 : 0)), Steps(i));
  const std::optional<WorkRate> rate = watch.Rate(std::nullopt);
  EXPECT_EQ(rate->longest_wait, At(6100));
  EXPECT_EQ(rate->time, At(16'000));
  EXPECT_FALSE(rate->spoiled);
}

}  // namespace

}  // namespace idleburn
