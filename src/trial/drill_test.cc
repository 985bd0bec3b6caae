#include "trial/drill.h"

#include <gtest/gtest.h>

#include <cmath>
#include <deque>

#include "support/told_leg.h"

namespace idleburn {
namespace {

using test::ToldLeg;

Leg Interrupted(const ToldLeg& told) {
  Leg leg(told.trace().started());
  leg.trace = told.trace();
  leg.progressed = told.trace().steps() > 0;
  leg.told = Nanos(2'000'000'000);
  leg.ended = Nanos(2'500'000'000);
  return leg;
}
Leg Good(std::int64_t from) {
  ToldLeg told;
  told.Say("step=0,resumed=" + std::to_string(from)).Steps(10, 4 * from, 4).Checkpoint(from + 10);
  return Interrupted(told);
}
Leg Silent() {
  Leg leg(Nanos(0));
  leg.end.exit_code = 1;
  leg.last_line = "no such state";
  return leg;
}

// A world that has these legs ready.
struct FakeWorld {
  std::deque<tl::expected<Leg, StartFailure>> legs;
  std::vector<LegSpec> asked;
  std::optional<int> signal_at;  // before that leg
  DrillSpec spec;

  Result<DrillResult> Run() {
    spec.leg.command = {"train"};
    spec.resume = {"train", "--resume"};
    spec.leg.timeout = Nanos(kNanosPerSecond);
    if (!spec.after_steps) spec.after = Drawn<Nanos>{Nanos(5), Nanos(9)};
    DrillWorld world;
    world.run = [this](const LegSpec& leg) {
      asked.push_back(leg);
      auto next = std::move(legs.front());
      legs.pop_front();
      return next;
    };
    world.interrupted = [this]() -> std::optional<int> {
      return signal_at && asked.size() >= static_cast<std::size_t>(*signal_at) ? std::optional(2) : std::nullopt;
    };
    world.tell = [](const std::string&) {};
    return RunDrill(spec, world);
  }
};

std::string_view OnlyFault(const DrillRound& round) {
  return round.reading.faults.size() == 1 ? InfoOf(round.reading.faults[0].reason).id : "not one";
}

TEST(DrillTest, EachRestartIsInterruptedInTurn) {
  FakeWorld world;
  for (const std::int64_t from : {0, 10, 20}) world.legs.emplace_back(Good(from));
  world.spec.rounds = 2;
  const Result<DrillResult> result = world.Run();
  ASSERT_TRUE(result);
  ASSERT_EQ(result->rounds.size(), 2U);
  EXPECT_EQ(result->legs.size(), 3U);
  EXPECT_TRUE(result->rounds[0].reading.clean());
  EXPECT_EQ(result->rounds[1].reading.resumed_at, 20);
  EXPECT_EQ(result->rounds[0].stop, Nanos(500'000'000));
  EXPECT_EQ(result->rounds[0].restart, Nanos(2'000'000));
  EXPECT_EQ(world.asked[0].command, std::vector<std::string>{"train"});
  EXPECT_EQ(world.asked[2].command, (std::vector<std::string>{"train", "--resume"}));
  for (const LegSpec& leg : world.asked) {
    EXPECT_GE(leg.goal.time, Nanos(5));
    EXPECT_LE(leg.goal.time, Nanos(9));
  }
}

TEST(DrillTest, ASeedDrawsTheSameAgain) {
  const auto drawn = [](std::uint64_t seed) {
    FakeWorld world;
    for (const std::int64_t from : {0, 10, 20, 30}) world.legs.emplace_back(Good(from));
    world.spec.seed = seed;
    world.spec.after_steps = Drawn<std::int64_t>{1, 1'000'000};
    EXPECT_TRUE(world.Run());
    std::vector<std::int64_t> steps;
    for (const LegSpec& leg : world.asked) steps.push_back(*leg.goal.steps);
    return steps;
  };
  EXPECT_EQ(drawn(7), drawn(7));
  EXPECT_NE(drawn(7), drawn(8));
}

TEST(DrillTest, WhatDoesNotResumeEndsTheDrill) {
  struct Case {
    Leg leg;
    std::string_view id;
  };
  Leg ended = Silent();
  ended.end.exit_code = 0;
  Leg hung(Nanos(0));
  hung.stalled = true;
  hung.told = Nanos(1);
  for (const Case& c : {Case{Silent(), "resume_failed"}, Case{ended, "no_progress"}, Case{hung, "hangs"}}) {
    FakeWorld world;
    world.legs.emplace_back(Good(0));
    world.legs.emplace_back(c.leg);
    const Result<DrillResult> result = world.Run();
    ASSERT_TRUE(result);
    ASSERT_EQ(result->rounds.size(), 1U) << c.id;
    EXPECT_EQ(OnlyFault(result->rounds[0]), c.id);
    EXPECT_EQ(result->rounds[0].reading.stopped_at, 10);
    EXPECT_NE(result->ended, "");
  }
}

TEST(DrillTest, WhatIsKilledAfterItsGraceDoesNotStop) {
  FakeWorld world;
  world.legs.emplace_back(Good(0));
  world.legs.front()->killed = true;
  world.legs.emplace_back(Good(10));
  world.spec.rounds = 1;
  const Result<DrillResult> result = world.Run();
  ASSERT_TRUE(result);
  EXPECT_EQ(OnlyFault(result->rounds[0]), "does_not_stop");
}

// A job that is through with its work after a restart is judged by what it did; there is nothing more to interrupt.
TEST(DrillTest, AJobThatFinishesIsJudged) {
  FakeWorld world;
  world.legs.emplace_back(Good(0));
  Leg finished = Good(10);
  finished.told.reset();
  world.legs.emplace_back(finished);
  const Result<DrillResult> result = world.Run();
  ASSERT_TRUE(result);
  ASSERT_EQ(result->rounds.size(), 1U);
  EXPECT_TRUE(result->rounds[0].reading.clean());
  EXPECT_EQ(result->ended, "the resumed job ended with exit 0 after 10 steps");
}

TEST(DrillTest, TheUsersSignalEndsIt) {
  FakeWorld world;
  for (const std::int64_t from : {0, 10}) world.legs.emplace_back(Good(from));
  world.signal_at = 2;
  Result<DrillResult> result = world.Run();
  ASSERT_TRUE(result);
  EXPECT_EQ(result->interrupted, 2);
  EXPECT_EQ(result->rounds.size(), 1U);
  FakeWorld amid;
  amid.legs.emplace_back(Good(0));
  amid.legs.front()->interrupted = 15;
  result = amid.Run();
  ASSERT_TRUE(result);
  EXPECT_EQ(result->interrupted, 15);
  EXPECT_TRUE(result->rounds.empty());
}

TEST(DrillTest, WhatCannotBeJudgedSaysWhy) {
  const auto error = [](std::vector<tl::expected<Leg, StartFailure>> legs) {
    FakeWorld world;
    for (auto& leg : legs) world.legs.push_back(std::move(leg));
    const Result<DrillResult> result = world.Run();
    return result ? "none" : result.error().message;
  };
  EXPECT_EQ(error({tl::unexpected<StartFailure>(StartFailure{{"x: not there"}, 127})}),
            "the command could not be started: x: not there");
  EXPECT_EQ(error({Good(0), tl::unexpected<StartFailure>(StartFailure{{"y: not there"}, 127})}),
            "the resume command could not be started: y: not there");
  EXPECT_EQ(error({Silent()}),
            "the command ended with exit 1 and reported no progress; its last output: no such state");
  Leg quick = Good(0);
  quick.told.reset();
  EXPECT_EQ(error({quick}),
            "the command ended with exit 0 after 10 steps, before it was interrupted; lower --after or "
            "give it more to do");
  Leg hung(Nanos(0));
  hung.stalled = true;
  EXPECT_EQ(error({hung}).find("the command reported no progress for 1 s; --timeout"), 0U);
}

TEST(DrillRequestTest, DefaultsAreACloudsNoticeAtARandomTime) {
  const Result<DrillSpec> spec = DrillRequest{}.Spec({"train"}, 1'234'567'890);
  ASSERT_TRUE(spec);
  EXPECT_EQ(spec->leg.interruption.signal, SIGTERM);
  EXPECT_EQ(spec->leg.interruption.grace, Nanos(30 * kNanosPerSecond));
  EXPECT_EQ(spec->after->low, Nanos(10 * kNanosPerSecond));
  EXPECT_EQ(spec->after->high, Nanos(30 * kNanosPerSecond));
  EXPECT_EQ(spec->seed, 567'890U);
  EXPECT_EQ(spec->rounds, 3);
  EXPECT_EQ(spec->resume, std::vector<std::string>{"train"});
}

TEST(DrillRequestTest, CloudsSignalsAndSpans) {
  DrillRequest request;
  request.cloud = "aws";
  EXPECT_EQ(request.Spec({"t"}, 0)->leg.interruption.grace, Nanos(120 * kNanosPerSecond));
  request.grace = "5s";
  EXPECT_EQ(request.Spec({"t"}, 0)->leg.interruption.grace, Nanos(5 * kNanosPerSecond));
  request.signal = "sigint";
  EXPECT_EQ(request.Spec({"t"}, 0)->leg.interruption.signal, SIGINT);
  request.after_steps = "5..9";
  const Result<DrillSpec> spec = request.Spec({"t"}, 0);
  EXPECT_FALSE(spec->after);
  EXPECT_EQ(spec->after_steps->low, 5);
  EXPECT_EQ(spec->after_steps->high, 9);
  request.after = "2s";
  request.resume = "t --from 'the last'";
  EXPECT_EQ(request.Spec({"t"}, 0)->after->high, Nanos(2 * kNanosPerSecond));
  EXPECT_EQ(request.Spec({"t"}, 0)->resume, (std::vector<std::string>{"t", "--from", "the last"}));
}

}  // namespace

namespace {

using test::ToldLeg;

DrillRound Round(std::vector<DrillReason> reasons) {
  DrillRound round;
  for (const DrillReason reason : reasons) round.reading.Add(reason, "");
  return round;
}
DrillVerdict VerdictOf(std::vector<std::vector<DrillReason>> rounds) {
  DrillResult result;
  for (const auto& reasons : rounds) result.rounds.push_back(Round(reasons));
  return ReadDrill(result).verdict;
}

TEST(DrillReadingTest, OneFaultFailsAndOneCleanRoundPasses) {
  using R = DrillReason;
  EXPECT_EQ(VerdictOf({{}, {}, {}}), DrillVerdict::kPass);
  EXPECT_EQ(VerdictOf({{}, {R::kSkips}, {}}), DrillVerdict::kFail);
  EXPECT_EQ(VerdictOf({{R::kNoCheckpointYet}, {}}), DrillVerdict::kPass);
  EXPECT_EQ(VerdictOf({{R::kNoCheckpointYet}}), DrillVerdict::kCannotTell);
  EXPECT_EQ(VerdictOf({{R::kSamplesUnknown}, {R::kSamplesUnknown}}), DrillVerdict::kCannotTell);
  EXPECT_EQ(VerdictOf({{R::kSamplesUnknown}, {R::kSamplesUnknown, R::kHangs}}), DrillVerdict::kFail);
  EXPECT_EQ(VerdictOf({}), DrillVerdict::kCannotTell);
}

// The table is what docs/drill-figures.md lists; ids are for programs and stand once.
TEST(DrillReadingTest, ReasonsHaveIdsOfTheirOwn) {
  std::set<std::string_view> ids;
  bool fails = true;
  for (const DrillReasonInfo& info : kDrillReasons) {
    EXPECT_TRUE(ids.insert(info.id).second) << info.id;
    EXPECT_FALSE(info.means.empty() || info.next.empty()) << info.id;
    EXPECT_FALSE(info.fails && !fails) << info.id << " fails, after one that does not";
    fails = info.fails;
  }
}

TEST(DrillReadingTest, FewValuesHaveNoInterval) {
  EXPECT_FALSE(FigureOf({}));
  const auto two = FigureOf(std::vector<double>{3, 1});
  EXPECT_FALSE(two->interval());
  EXPECT_EQ(two->low, 1);
  EXPECT_EQ(two->high, 3);
  const auto four = FigureOf(std::vector<double>{1, 2, 3, 4});
  // The table's t for 3 degrees of freedom at 95 %: 3.182; s = 1.2910, so 2.5 +- 3.182 x 1.2910 / 2.
  EXPECT_TRUE(four->interval());
  EXPECT_NEAR(four->low, 0.446, 1e-3);
  EXPECT_NEAR(four->high, 4.554, 1e-3);
  EXPECT_EQ(FigureOf(std::vector<double>{0, 0, 9})->low, 0);  // no quantity is less than nothing
}

TEST(DrillReadingTest, FiguresComeFromLegsAndRounds) {
  DrillResult result;
  ToldLeg told;
  told.Steps(10, 0, 1).Checkpoint(10, true, 20).Steps(10, 10, 1).Checkpoint(20, true, 40).Steps(9, 20, 1);
  Leg leg(Nanos(0));
  leg.trace = told.trace();
  leg.told = Nanos(kNanosPerSecond);
  result.legs.push_back(leg);
  DrillRound round;
  round.restart = Nanos(2 * kNanosPerSecond);
  round.stop = Nanos(kNanosPerSecond / 2);
  round.reading.lost_steps = 9;
  result.rounds = {round, round};
  const DrillFigures figures = ReadDrill(result).figures;
  EXPECT_NEAR(figures.checkpoint_s->mean, 0.030, 1e-9);
  EXPECT_EQ(figures.checkpoint_s->count, 2U);
  EXPECT_EQ(figures.checkpoint_bytes->mean, 100);
  EXPECT_NEAR(figures.checkpoint_interval_s->mean, 0.031, 1e-9);  // 20 ms of writing, 10 steps and a line
  EXPECT_EQ(figures.restart_s->mean, 2);
  EXPECT_EQ(figures.stop_s->mean, 0.5);
  EXPECT_NEAR(figures.lost_s->mean, 9 * figures.step_s->mean, 1e-12);
  EXPECT_FALSE(figures.lost_samples);
  EXPECT_FALSE(figures.checkpoint_from_files);
}

// Where no marker speaks of checkpoints their files do.
TEST(DrillReadingTest, FilesStandInForMarkers) {
  DrillResult result;
  Leg leg(Nanos(0));
  leg.writes = {{Nanos(0), Nanos(1'000'000'000), 10, 1}, {Nanos(5'000'000'000), Nanos(7'000'000'000), 30, 1}};
  result.legs.push_back(leg);
  const DrillFigures figures = ReadDrill(result).figures;
  EXPECT_TRUE(figures.checkpoint_from_files);
  EXPECT_EQ(figures.checkpoint_s->mean, 1.5);
  EXPECT_EQ(figures.checkpoint_bytes->mean, 20);
  EXPECT_EQ(figures.checkpoint_interval_s->mean, 5);
}

DrillFigure Exactly(double value) { return {3, value, value, value}; }

// The expected time of a long run, interruption by interruption: an independent computation of the first order.
double Simulated(double write, double restart, double lost, double interval, double uptime) {
  const double work = 1e6;
  const double busy = work + work / interval * write;
  const double losses = busy / uptime;
  return (busy + losses * (restart + lost)) / work - 1;
}
// Against an uninterrupted run that writes its checkpoints every `own`.
double Credited(double overhead, double write, double own) { return (1 + overhead) / (1 + write / own) - 1; }

TEST(DrillReadingTest, TheOutlookIsTheFirstOrder) {
  DrillFigures figures;
  figures.checkpoint_s = Exactly(30);
  figures.restart_s = Exactly(180);
  figures.lost_s = Exactly(250);
  figures.checkpoint_interval_s = Exactly(600);
  const DrillOutlook outlook = OutlookOf(figures, 4 * 3600, 1);
  EXPECT_NEAR(*outlook.overhead_now, Credited(Simulated(30, 180, 250, 600, 4 * 3600), 30, 600), 1e-9);
  EXPECT_NEAR(*outlook.overhead_now, (180 + 250) / (4 * 3600.0), 1e-9);  // its own checkpoints cost it anyway
  EXPECT_NEAR(*outlook.young_interval_s, std::sqrt(2 * 30 * 4 * 3600.0), 1e-9);
  EXPECT_NEAR(*outlook.overhead_young,
              Credited(Simulated(30, 180, *outlook.young_interval_s / 2, *outlook.young_interval_s, 4 * 3600), 30, 600),
              1e-9);
  EXPECT_FALSE(outlook.outside);
  // One loss of any node interrupts all.
  EXPECT_EQ(OutlookOf(figures, 4 * 3600, 16).uptime_s, 900);
  EXPECT_TRUE(OutlookOf(figures, 4 * 3600, 16).outside);
  figures.checkpoint_interval_s.reset();
  EXPECT_NEAR(*OutlookOf(figures, 4 * 3600, 1).overhead_young,
              Simulated(30, 180, *outlook.young_interval_s / 2, *outlook.young_interval_s, 4 * 3600), 1e-9);
  EXPECT_NEAR(BreakEvenDiscount(1.0), 0.5, 1e-12);  // 50 % off pays for twice the time
  EXPECT_NEAR(BreakEvenDiscount(1.5), 0.6, 1e-12);
  figures.checkpoint_s.reset();
  EXPECT_FALSE(OutlookOf(figures, 3600, 1).overhead_now);
}

}  // namespace

}  // namespace idleburn
