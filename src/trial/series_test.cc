#include "trial/series.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>

namespace idleburn {
namespace {

Trial Worked(double per_second) {
  Trial trial;
  trial.rate = WorkRate{WorkUnit::kStep, 1000, Nanos(static_cast<std::int64_t>(1e12 / per_second))};
  trial.count = 1000;
  trial.hooks.workers = 1;
  return trial;
}

// A command that is asked for one run after the other.
struct FakeCommand {
  std::string order;  // A: unchanged, B: changed
  std::function<Trial(bool changed, int run)> answer = [](bool changed, int) { return Worked(changed ? 5 : 10); };
  std::optional<int> signal_at;  // before this run
  std::vector<std::string> told;
  int runs = 0;

  SeriesWorld World() {
    SeriesWorld world;
    world.context.cpus = {{0, 0, 0}, {1, 0, 1}};
    world.run = [this](const KnobChange& change) -> tl::expected<Trial, StartFailure> {
      const bool changed = !change.cpus.empty() || !change.environment.empty();
      order += changed ? 'B' : 'A';
      return answer(changed, runs++);
    };
    world.interrupted = [this] { return signal_at && runs >= *signal_at ? std::optional(15) : std::nullopt; };
    world.tell = [this](const std::string& line) { told.push_back(line); };
    return world;
  }
};

SeriesSpec Spec(std::vector<std::string_view> knobs, int rounds) {
  SeriesSpec spec;
  spec.rounds = rounds;
  for (const std::string_view id : knobs) spec.knobs.push_back(FindKnob(id));
  return spec;
}

TEST(SeriesTest, TheOrderIsBalanced) {
  FakeCommand command;
  const Result<SeriesResult> result = RunSeries(Spec({"cpu_affinity"}, 4), command.World());
  ASSERT_TRUE(result);
  EXPECT_EQ(command.order, "AAAAAABBAABBA");  // the first is not counted, and four for the noise
  ASSERT_EQ(result->knobs.size(), 1U);
  EXPECT_EQ(result->knobs[0].status, KnobStatus::kRan);
  EXPECT_EQ(result->knobs[0].resource_ratio, 0.5);
  ASSERT_EQ(result->knobs[0].pairs.size(), 4U);
  for (const TrialPair& pair : result->knobs[0].pairs) {
    EXPECT_DOUBLE_EQ(pair.baseline.PerSecond(), 10);
    EXPECT_DOUBLE_EQ(pair.variant.PerSecond(), 5);
  }
}

TEST(SeriesTest, ItsOwnNoiseIsMeasuredFirstAndOnce) {
  FakeCommand command;
  command.answer = [](bool changed, int run) { return Worked(changed ? 5 : 10 + run); };
  const Result<SeriesResult> result = RunSeries(Spec({"cpu_affinity", "cpu_affinity"}, 2), command.World());
  ASSERT_TRUE(result);
  EXPECT_EQ(command.order, "AAAABBAABBA");
  ASSERT_EQ(result->unchanged.size(), 2U);
  EXPECT_NEAR(result->unchanged[0].PerSecond(), 11, 1e-6);
  EXPECT_NEAR(result->unchanged[1].PerSecond(), 12, 1e-6);
  // One round has no interval, so its noise would serve nothing.
  FakeCommand once;
  ASSERT_TRUE(RunSeries(Spec({"cpu_affinity"}, 1), once.World()));
  EXPECT_EQ(once.order, "AAB");
}

Trial Spoiled(double per_second) {
  Trial trial = Worked(per_second);
  trial.rate->spoiled = true;
  trial.rate->stood_still = Nanos(3 * kNanosPerSecond);
  return trial;
}

TEST(SeriesTest, APairInWhichTheMachineStoodStillIsRunAgainInItsOrder) {
  FakeCommand command;
  command.answer = [](bool changed, int run) {
    if (run == 7) return Spoiled(1);  // the second of B A
    return Worked(changed ? 5 : 10);
  };
  const Result<SeriesResult> result = RunSeries(Spec({"cpu_affinity"}, 3), command.World());
  ASSERT_TRUE(result);
  EXPECT_EQ(command.order, "AAAAABBABAAB");
  const KnobResult& knob = result->knobs[0];
  EXPECT_EQ(knob.repeated, 1);
  ASSERT_EQ(knob.pairs.size(), 3U);
  for (const TrialPair& pair : knob.pairs) EXPECT_DOUBLE_EQ(pair.baseline.PerSecond(), 10);
  EXPECT_EQ(knob.stood_still, Nanos(0));
  EXPECT_TRUE(std::any_of(command.told.begin(), command.told.end(), [](const std::string& line) {
    return line.find("round 2: this machine stood still for 3.0 s; once more") != std::string::npos;
  }));
}

TEST(SeriesTest, WhereNoPairIsLeftCleanTheSpoiledOnesAreUsed) {
  FakeCommand command;
  command.answer = [](bool changed, int) { return Spoiled(changed ? 5 : 10); };
  const Result<SeriesResult> result = RunSeries(Spec({"cpu_affinity"}, 2), command.World());
  ASSERT_TRUE(result);
  EXPECT_EQ(command.order, "AAAABABABBA");  // two rounds, and as many again
  EXPECT_EQ(result->knobs[0].status, KnobStatus::kRan);
  EXPECT_EQ(result->knobs[0].repeated, 2);
  EXPECT_EQ(result->knobs[0].pairs.size(), 4U);
  EXPECT_EQ(result->knobs[0].stood_still, Nanos(4 * 6 * kNanosPerSecond));
}

TEST(SeriesTest, AKnobWhoseChangedRunFailsIsLeftOutAndTheNextIsTried) {
  FakeCommand command;
  command.answer = [](bool changed, int run) {
    Trial trial = Worked(10);
    trial.hooks.workers = changed ? 2 : 1;
    if (changed && run < 7) {
      trial.by_itself = true;
      trial.end.exit_code = 3;
      trial.last_line = "no memory";
    }
    return trial;
  };
  const Result<SeriesResult> result = RunSeries(Spec({"cpu_affinity", "workers"}, 3), command.World());
  ASSERT_TRUE(result);
  EXPECT_EQ(command.order, "AAAAABABBAAB");
  EXPECT_EQ(result->knobs[0].status, KnobStatus::kFailed);
  EXPECT_NE(result->knobs[0].why.find("exit 3 after 1000 steps; the last it printed: no memory"), std::string::npos)
      << result->knobs[0].why;
  EXPECT_EQ(result->knobs[1].status, KnobStatus::kRan);
}

TEST(SeriesTest, AHookThatIsNotFollowedShowsNothing) {
  FakeCommand command;  // goes on with one worker
  const Result<SeriesResult> result = RunSeries(Spec({"workers"}, 2), command.World());
  ASSERT_TRUE(result);
  EXPECT_EQ(result->knobs[0].status, KnobStatus::kFailed);
  EXPECT_NE(result->knobs[0].why.find("used 1 instead of 2"), std::string::npos) << result->knobs[0].why;
}

TEST(SeriesTest, WhatCannotBeTurnedSaysWhy) {
  FakeCommand command;
  command.answer = [](bool, int) {
    Trial trial = Worked(10);
    trial.hooks = HooksSaid{};
    return trial;
  };
  SeriesWorld world = command.World();
  world.context.cpus.resize(1);
  const Result<SeriesResult> result =
      RunSeries(Spec({"cpu_affinity", "io_throttle", "page_cache", "workers", "synthetic_data"}, 3), std::move(world));
  ASSERT_TRUE(result);
  EXPECT_EQ(command.order, "A");
  constexpr std::array<std::string_view, 5> kWhy = {"one CPU", "--data PATH", "--data PATH",
                                                    "not used by this workload", "not used by this workload"};
  for (std::size_t i = 0; i < kWhy.size(); ++i) {
    EXPECT_EQ(result->knobs[i].status, KnobStatus::kNotAvailable);
    EXPECT_NE(result->knobs[i].why.find(kWhy[i]), std::string::npos) << result->knobs[i].why;
  }
}

TEST(SeriesTest, ACommandThatFailsUnchangedEndsItAll) {
  FakeCommand command;
  command.answer = [](bool, int run) {
    Trial trial = Worked(10);
    if (run == 4) trial.rate.reset();
    trial.by_itself = true;
    return trial;
  };
  const Result<SeriesResult> result = RunSeries(Spec({"cpu_affinity"}, 3), command.World());
  ASSERT_FALSE(result);
  EXPECT_NE(result.error().message.find("too few to measure"), std::string::npos) << result.error().message;
  EXPECT_NE(result.error().message.find("cpu_affinity, unchanged"), std::string::npos);
}

TEST(SeriesTest, ASignalEndsItAndKeepsWholePairs) {
  FakeCommand command;
  command.signal_at = 7;  // the first, three for the noise, a pair, one of the second pair
  const Result<SeriesResult> result = RunSeries(Spec({"cpu_affinity", "workers"}, 3), command.World());
  ASSERT_TRUE(result);
  EXPECT_EQ(result->interrupted, 15);
  EXPECT_EQ(command.order, "AAAAABB");
  EXPECT_EQ(result->knobs[0].pairs.size(), 1U);
  EXPECT_EQ(result->knobs[1].status, KnobStatus::kNotReached);
}

TEST(SeriesTest, ASignalAtTheStartLeavesAllNotReached) {
  FakeCommand command;
  command.signal_at = 0;
  const Result<SeriesResult> result = RunSeries(Spec({"cpu_affinity", "workers"}, 3), command.World());
  ASSERT_TRUE(result);
  EXPECT_EQ(command.order, "");
  ASSERT_EQ(result->knobs.size(), 2U);
  EXPECT_EQ(result->knobs[1].status, KnobStatus::kNotReached);
}

// A quota of a part of a CPU counts as what it is.
TEST(SeriesTest, HalfOfAFractionIsTheFractionThatIsLeft) {
  FakeCommand command;
  SeriesWorld world = command.World();
  world.context.quota_cpus = 1.5;
  const Result<SeriesResult> result = RunSeries(Spec({"cpu_affinity"}, 2), std::move(world));
  ASSERT_TRUE(result);
  EXPECT_DOUBLE_EQ(result->knobs[0].resource_ratio.value_or(0), 1 / 1.5);
  EXPECT_EQ(result->knobs[0].before, "1.5 CPUs");
}

TEST(SeriesTest, ASignalThatEndedARunEndsTheSeries) {
  FakeCommand command;
  command.answer = [](bool, int run) {
    Trial trial = Worked(10);
    if (run == 5) trial.interrupted = 2;
    return trial;
  };
  const Result<SeriesResult> result = RunSeries(Spec({"cpu_affinity"}, 3), command.World());
  ASSERT_TRUE(result);
  EXPECT_EQ(result->interrupted, 2);
  EXPECT_EQ(command.order, "AAAAAB");
  EXPECT_TRUE(result->knobs[0].pairs.empty());
}

TEST(KnobTest, IdsAreUniqueAndEveryRowIsWhole) {
  for (const Knob& knob : Knobs()) {
    EXPECT_EQ(FindKnob(knob.id), &knob);
    EXPECT_FALSE(knob.changes.empty() || knob.applied.empty() || knob.needs.empty() || knob.next.empty()) << knob.id;
    EXPECT_FALSE(knob.claim.empty() || knob.opposite.empty() || knob.causes[0].empty()) << knob.id;
    EXPECT_TRUE(knob.expected == 1 || knob.expected == -1) << knob.id;
  }
  EXPECT_EQ(FindKnob("nothing"), nullptr);
}

}  // namespace
}  // namespace idleburn
