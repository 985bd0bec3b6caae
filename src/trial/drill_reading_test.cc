#include "trial/drill_reading.h"

#include <gtest/gtest.h>

#include <cmath>

#include "support/told_leg.h"

namespace idleburn {
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

// The table is what docs/drill.md lists; ids are for programs and stand once.
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
