#include "isolate/work_rate.h"

#include <gtest/gtest.h>

#include <cmath>
#include <utility>
#include <vector>

namespace idleburn {
namespace {

constexpr Nanos At(std::int64_t milliseconds) { return Nanos(milliseconds * 1'000'000); }

WorkSaid Steps(std::int64_t n) {
  WorkSaid done;
  done.steps = n;
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
  WorkSaid samples;
  samples.samples = 100;
  watch.See(At(100), samples);
  samples.samples = 200;
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
  watch.See(At(100), WorkSaid{});
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
    WorkSaid done = Steps(n);
    done.samples = 8 * n;
    watch.See(At(100 * n), done);
  }
  const std::optional<WorkRate> rate = watch.Rate(std::nullopt);
  ASSERT_TRUE(rate);
  EXPECT_EQ(rate->done.steps, 4);
  EXPECT_EQ(rate->done.samples, 32);
  EXPECT_FALSE(rate->done.tokens);
}

}  // namespace
}  // namespace idleburn
