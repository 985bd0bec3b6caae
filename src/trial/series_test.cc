#include "trial/series.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <random>
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
    return line.find("round 2: this machine stood still for 3 s; idleburn repeats the round") != std::string::npos;
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
  EXPECT_NE(result->knobs[0].why.find("exit 3 after 1000 steps; its last output: no memory"), std::string::npos)
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

WorkRate PerSecond(double rate) { return {WorkUnit::kStep, 1'000'000, Nanos(static_cast<std::int64_t>(1e15 / rate))}; }

KnobResult ResultOf(std::string_view knob, std::optional<double> ratio,
                    const std::vector<std::array<double, 2>>& pairs) {
  KnobResult result;
  result.knob = FindKnob(knob);
  result.status = KnobStatus::kRan;
  result.resource_ratio = ratio;
  for (const auto& [before, after] : pairs) result.pairs.push_back({PerSecond(before), PerSecond(after)});
  return result;
}

// The same by another way: the geometric mean and its spread, t from the printed table, no logarithm of base e.
struct Twin {
  double effect, low, high, sensitivity;
};
Twin NaiveTwin(const std::vector<std::array<double, 2>>& pairs, double ratio, double t) {
  const auto n = static_cast<double>(pairs.size());
  double product = 1;
  for (const auto& [before, after] : pairs) product *= after / before;
  const double mean = std::pow(product, 1 / n);
  double squares = 0;
  for (const auto& [before, after] : pairs) squares += std::pow(std::log2(after / before / mean), 2);
  const double factor = std::exp2(t * std::sqrt(squares / (n * (n - 1))));
  return {mean - 1, mean / factor - 1, mean * factor - 1, std::log2(mean) / std::log2(ratio)};
}

TEST(ReadingTest, EffectSensitivityAndIntervalsAreThoseOfANaiveTwin) {
  struct Case {
    std::vector<std::array<double, 2>> pairs;
    double ratio;
    double t;
  };
  const std::vector<Case> cases = {
      {{{10, 5.2}, {10.4, 5.1}, {9.8, 5.4}}, 0.5, 4.302653},
      {{{10, 9.7}, {11, 10.9}, {9, 9.4}, {10, 10.1}}, 1.0 / 3, 3.182446},
      {{{4, 7}, {4.2, 7.7}}, 2, 12.706205},
  };
  for (const Case& c : cases) {
    const KnobReading reading = ReadKnob(ResultOf("cpu_affinity", c.ratio, c.pairs));
    const Twin twin = NaiveTwin(c.pairs, c.ratio, c.t);
    EXPECT_NEAR(reading.effect, twin.effect, 1e-6);
    ASSERT_TRUE(reading.effect_interval && reading.sensitivity && reading.sensitivity_interval);
    EXPECT_NEAR(reading.effect_interval->low, twin.low, 1e-4 * std::abs(twin.low) + 1e-6);
    EXPECT_NEAR(reading.effect_interval->high, twin.high, 1e-4 * std::abs(twin.high) + 1e-6);
    EXPECT_NEAR(*reading.sensitivity, twin.sensitivity, 1e-6);
    const double at_low = std::log(1 + twin.low) / std::log(c.ratio);
    const double at_high = std::log(1 + twin.high) / std::log(c.ratio);
    EXPECT_NEAR(reading.sensitivity_interval->low, std::min(at_low, at_high), 1e-3);
    EXPECT_NEAR(reading.sensitivity_interval->high, std::max(at_low, at_high), 1e-3);
  }
}

// By hand: ln 10, ln 11, ln 12.1 lie ln 1.1 apart, so their squares about the mean sum to 2 (ln 1.1)^2; likewise the
// two unchanged runs of the knob, half of (ln 1.21)^2 = 2 (ln 1.1)^2. Over 2 + 1 degrees of freedom.
TEST(ReadingTest, NoiseIsPooledOverGroupsOfUnchangedRuns) {
  SeriesResult series;
  EXPECT_FALSE(NoiseOf(series));
  for (const double rate : {10.0, 11.0, 12.1}) series.unchanged.push_back(PerSecond(rate));
  series.knobs.push_back(ResultOf("cpu_quota", 0.5, {{{100, 5}}, {{121, 5}}}));
  const std::optional<RunNoise> noise = NoiseOf(series);
  ASSERT_TRUE(noise);
  EXPECT_EQ(noise->runs, 5);
  EXPECT_DOUBLE_EQ(noise->freedom, 3);
  EXPECT_NEAR(noise->log_sd, std::log(1.1) * std::sqrt(4.0 / 3), 1e-9);
  // t of 3 degrees of freedom at 97.5 %, from a printed table, for two pairs: sqrt(2 / 2) = 1.
  const KnobReading reading = ReadKnob(ResultOf("cpu_quota", 0.5, {{{10, 9}}, {{10, 9}}}), noise);
  const double half = 3.182446 * noise->log_sd;
  EXPECT_NEAR(reading.effect_interval->low, 0.9 * std::exp(-half) - 1, 1e-4);
  EXPECT_NEAR(reading.effect_interval->high, 0.9 * std::exp(half) - 1, 1e-4);
}

// Pairs that agree by chance on a machine whose unchanged runs differ by more: no effect is claimed.
TEST(ReadingTest, AnEffectWithinTheNoiseIsNotShown) {
  const KnobResult agree = ResultOf("cpu_quota", 0.5, {{{10, 15.1}}, {{10, 15.2}}, {{10, 15.3}}});
  EXPECT_EQ(ReadKnob(agree).finding, KnobFinding::kOpposite);
  EXPECT_EQ(ReadKnob(agree, RunNoise{0.3, 4, 6}).finding, KnobFinding::kNotShown);
  EXPECT_EQ(ReadKnob(agree, RunNoise{0.02, 4, 6}).finding, KnobFinding::kOpposite);
}

// Series of runs that differ by noise alone, of four kinds: at most one in twenty may claim an effect.
TEST(ReadingTest, NoiseAloneSeldomClaimsAnEffect) {
  constexpr int kSeries = 4000;
  constexpr std::size_t kRounds = 3;
  for (const int kind : {0, 1, 2, 3}) {
    std::mt19937_64 random(static_cast<std::uint64_t>(kind) + 11);
    std::normal_distribution<double> normal;
    std::bernoulli_distribution turns(0.3);
    std::bernoulli_distribution bursts(0.2);
    int claimed = 0;
    for (int i = 0; i < kSeries; ++i) {
      double walk = 0;
      bool slow = turns(random);
      const auto next = [&] {
        const double step = normal(random);
        if (kind == 0) return std::exp(0.15 * step);
        if (kind == 1) return std::exp(walk += 0.1 * step);
        if (kind == 2) return std::exp(((slow = slow != turns(random)) ? -0.4 : 0) + 0.02 * step);
        return std::exp((bursts(random) ? -0.5 : 0) + 0.02 * step);
      };
      SeriesResult series;
      for (std::size_t run = 0; run < kRounds; ++run) series.unchanged.push_back(PerSecond(next()));
      std::vector<std::array<double, 2>> pairs(kRounds);
      for (std::size_t run = 0; run < kRounds; ++run) {
        const std::size_t first = run % 2;  // A B, B A, A B
        pairs[run][first] = next();
        pairs[run][1 - first] = next();
      }
      series.knobs.push_back(ResultOf("cpu_quota", 0.5, pairs));
      const KnobFinding finding = ReadKnob(series.knobs[0], NoiseOf(series)).finding;
      claimed += finding != KnobFinding::kNotShown && finding != KnobFinding::kNone ? 1 : 0;
    }
    EXPECT_LT(claimed, kSeries / 40) << "kind " << kind;
  }
}

TEST(ReadingTest, InProportionIsOneAndUnmovedIsNone) {
  const KnobReading bound = ReadKnob(ResultOf("cpu_affinity", 0.25, {{{8, 2}}, {{12, 3}}}));
  EXPECT_NEAR(*bound.sensitivity, 1, 1e-9);
  EXPECT_EQ(bound.finding, KnobFinding::kBounds);
  const KnobReading free = ReadKnob(ResultOf("cpu_affinity", 0.5, {{{8, 8}}, {{12, 12}}}));
  EXPECT_NEAR(*free.sensitivity, 0, 1e-9);
  EXPECT_EQ(free.finding, KnobFinding::kNone);
}

TEST(ReadingTest, FindingsFollowTheIntervalAndTheSign) {
  const auto finding = [](const char* knob, std::optional<double> ratio, const std::vector<std::array<double, 2>>& p) {
    return ReadKnob(ResultOf(knob, ratio, p)).finding;
  };
  EXPECT_EQ(finding("cpu_quota", 0.5, {{{10, 8}}, {{10, 8.01}}, {{10, 7.99}}}), KnobFinding::kPartly);  // s = .32
  // A sensitivity of a half in the midst of its interval: .45 to .55, say.
  EXPECT_EQ(finding("cpu_quota", 0.5, {{{10, 7}}, {{10, 7.1}}, {{10, 7.15}}}), KnobFinding::kAtLeastPartly);
  EXPECT_EQ(finding("cpu_quota", 0.5, {{{10, 5}}, {{10, 5.01}}, {{10, 4.99}}}), KnobFinding::kBounds);
  EXPECT_EQ(finding("cpu_quota", 0.5, {{{10, 12}}, {{10, 12.1}}}), KnobFinding::kOpposite);
  EXPECT_EQ(finding("cpu_quota", 0.5, {{{10, 5}}, {{10, 12}}}), KnobFinding::kNotShown);
  EXPECT_EQ(finding("cpu_quota", 0.5, {{{10, 5}}}), KnobFinding::kOneRound);
  EXPECT_EQ(finding("cpu_quota", 0.5, {{{10, 9.9}}, {{10, 9.901}}}), KnobFinding::kNone);  // surely 1 %, and too little
  EXPECT_EQ(finding("workers", 2, {{{10, 12}}, {{10, 12.01}}}), KnobFinding::kBounds);  // takes nothing: no "in part"
  EXPECT_EQ(finding("workers", 2, {{{10, 8}}, {{10, 8.01}}}), KnobFinding::kOpposite);
  EXPECT_EQ(finding("synthetic_data", std::nullopt, {{{10, 30}}, {{10, 30.1}}}), KnobFinding::kBounds);
  EXPECT_FALSE(ReadKnob(ResultOf("synthetic_data", std::nullopt, {{{10, 30}}, {{10, 31}}})).sensitivity);
  EXPECT_FALSE(ReadKnob(ResultOf("cpu_quota", 0.5, {{{10, 5}}})).effect_interval);
}

}  // namespace

}  // namespace idleburn
