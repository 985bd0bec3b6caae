#include "report/drill_output.h"

#include <gtest/gtest.h>

#include "support/documented_keys.h"
#include "support/told_leg.h"

namespace idleburn {
namespace {

using test::ToldLeg;

DrillRound Round(std::int64_t step, std::vector<DrillFault> faults) {
  DrillRound round;
  round.goal.time = Nanos(kNanosPerSecond);
  round.goal.steps = 20;
  round.stop = Nanos(kNanosPerSecond / 10);
  round.restart = Nanos(3 * kNanosPerSecond);
  round.reading = {step, step - 5, step - 5, 5, 40, 0, 0, 0, true, std::move(faults)};
  return round;
}

DrillReport Report(std::vector<DrillRound> rounds) {
  DrillReport report;
  report.command = report.resume = "python train.py";
  report.spec.after = Drawn<Nanos>{Nanos(10 * kNanosPerSecond), Nanos(30 * kNanosPerSecond)};
  report.spec.seed = 7;
  ToldLeg told;
  told.Steps(10, 0, 1).Checkpoint(10, true, 20).Steps(10, 10, 1).Checkpoint(20, true, 20).Steps(9, 20, 1);
  Leg leg(Nanos(0));
  leg.trace = told.trace();
  report.result.legs.push_back(leg);
  report.result.rounds = std::move(rounds);
  report.reading = ReadDrill(report.result);
  return report;
}

std::string DrillText(const DrillReport& report) { return PageText(DrillPage(report), 140, false); }

TEST(DrillOutputTest, TheVerdictComesFirst) {
  const DrillReport pass = Report({Round(60, {}), Round(120, {})});
  EXPECT_EQ(DrillPage(pass).verdict,
            "PASS: 2 of 2 interruptions (SIGTERM, 30 s of grace): it resumed at the step of its state; no sample was "
            "skipped or repeated.");
  const DrillReport fail =
      Report({Round(60, {}), Round(120, {{DrillReason::kSkips, "12 samples after step 115 were never taken"}})});
  const std::string text = DrillText(fail);
  EXPECT_EQ(DrillPage(fail).verdict, "FAIL (SIGTERM, 30 s of grace): samples are never trained on.");
  EXPECT_NE(text.find("\n  why   skips, round 2: 12 samples after step 115 were never taken\n"), std::string::npos);
  EXPECT_NE(text.find("\n  next  skips: save the position of the data iterator"), std::string::npos);
  DrillReport unknown = Report({Round(60, {{DrillReason::kSamplesUnknown, "not known"}})});
  unknown.spec.leg.interruption.signal = SIGKILL;
  EXPECT_EQ(DrillPage(unknown).verdict, "CANNOT TELL (SIGKILL): whether samples are repeated or skipped is not known.");
  EXPECT_EQ(DrillPage(Report({})).verdict, "CANNOT TELL: the drill ended before the first interruption was over.");
}

TEST(DrillOutputTest, WhatIsUnknownSaysWhatToAdd) {
  DrillReport report = Report({Round(60, {})});
  report.result.legs.clear();
  report.reading = ReadDrill(report.result);
  const std::string text = DrillText(report);
  EXPECT_NE(text.find("unknown  needs idleburn.checkpoint(step, path), or --checkpoint PATH"), std::string::npos)
      << text;
  EXPECT_NE(text.find("unknown; give the mean time between losses of a node with --uptime 6h"), std::string::npos);
}

// An uninterrupted run writes its checkpoints too: what is left is 3 s of restart, and the loss, an hour.
TEST(DrillOutputTest, SpotIsPricedInTime) {
  DrillReport report = Report({Round(60, {}), Round(120, {})});
  report.uptime = Nanos(kNanosPerHour);
  const std::string text = DrillText(report);
  const double lost = report.reading.figures.lost_s->mean;
  char shown[64];
  std::snprintf(shown, sizeof shown, "%.3g %% more time than on demand", 100 * (3 + lost) / 3600);
  EXPECT_NE(text.find(shown), std::string::npos) << text;
  EXPECT_NE(text.find("This leaves out the time in which a cloud provides another machine."), std::string::npos);
}

TEST(DrillOutputTest, MarkdownSaysTheSameWithoutMarkupFromOutside) {
  DrillReport report = Report({Round(60, {{DrillReason::kResumeFailed, "its last output: <b>|*x*"}})});
  const std::string text = PageMarkdown(DrillPage(report));
  EXPECT_EQ(text.find("# Restart drill\n\n**FAIL (SIGTERM, 30 s of grace): the resume command ends with an error.**"),
            0U);
  EXPECT_NE(text.find("&lt;b&gt;\\|\\*x\\*"), std::string::npos) << text;
  EXPECT_NE(text.find("| writing a checkpoint (C) | 20 ms |"), std::string::npos) << text;
}

TEST(DrillOutputTest, TheDocumentAndTheWriterDescribeEachOther) {
  DrillReport all = Report({Round(60, {{DrillReason::kSkips, "text"}}), Round(120, {})});
  all.cloud = "aws";
  all.uptime = Nanos(2 * kNanosPerSecond);
  all.spec.after_steps = Drawn<std::int64_t>{5, 9};
  all.result.interrupted = 15;
  all.result.ended = "the resumed job hung";
  DrillReport least = Report({});
  least.spec.leg.interruption.signal = SIGKILL;
  least.spec.after.reset();
  least.result.rounds.emplace_back();
  least.result.legs.clear();
  least.reading = ReadDrill(least.result);
  DrillReport blind = least;
  blind.uptime = Nanos(kNanosPerHour);
  const std::vector<std::string> documents = {DrillJson(all), DrillJson(least), DrillJson(blind)};
  test::ExpectDocumented("idleburn.drill/1", documents);
}

}  // namespace
}  // namespace idleburn
