#include "trial/leg_trace.h"

#include <gtest/gtest.h>

#include "support/told_leg.h"

namespace idleburn {
namespace {

using test::ToldLeg;

Nanos Ms(std::int64_t ms) { return Nanos(ms * 1'000'000); }

TEST(LegTraceTest, StepsSamplesAndCheckpointsAreKeptInOrder) {
  ToldLeg leg;
  leg.Say("step=0,resumed=40,rank=1").Steps(3, 80, 2).Checkpoint(43).Checkpoint(43, false);
  const LegTrace& trace = leg.trace();
  EXPECT_EQ(trace.resumed(), 40);
  EXPECT_EQ(trace.steps(), 3);
  EXPECT_EQ(trace.first_step(), Ms(2));
  const RankTrace& rank = trace.ranks().at(0);
  EXPECT_EQ(rank.first_sample, 80);
  ASSERT_EQ(rank.seen.size(), 3U);
  EXPECT_EQ(rank.seen[2].next, 86);
  EXPECT_EQ(rank.seen[2].order, 85);
  ASSERT_EQ(trace.checkpoints().size(), 2U);
  EXPECT_EQ(trace.checkpoints()[0].end, Ms(6));
  EXPECT_EQ(trace.checkpoints()[0].bytes, 100);
  EXPECT_FALSE(trace.checkpoints()[1].end);
}

TEST(LegTraceTest, AStampIsBelievedWithinTheLegOnly) {
  LegTrace trace(Ms(10));
  const auto take = [&](const std::string& line, std::int64_t now) { trace.Take(*ParseMarker(line), Ms(now)); };
  take("step=1,at_ns=11000000", 15);
  take("step=2,at_ns=9000000", 16);   // before it began: of another clock
  take("step=3,at_ns=99000000", 17);  // in the future
  const std::vector<StepSeen>& seen = trace.ranks().at(0).seen;
  ASSERT_EQ(seen.size(), 3U);
  EXPECT_EQ(seen[0].at, Ms(11));
  EXPECT_EQ(seen[1].at, Ms(16));
  EXPECT_EQ(seen[2].at, Ms(17));
}

// A rank that is started again within the leg goes on counting.
TEST(LegTraceTest, AnotherProcessOfARankAddsToIt) {
  ToldLeg leg;
  leg.Say("step=4,pid=1").Say("step=1,pid=2").Say("step=2,pid=2").Say("step=9,rank=1,pid=3");
  EXPECT_EQ(leg.trace().ranks().at(0).seen.back().steps, 6);
  EXPECT_EQ(leg.trace().steps(), 9);
}

TEST(LegTraceTest, TimeAStepIsWithoutCheckpointsThatStandInItsWay) {
  ToldLeg blocking;
  blocking.Steps(5, 0, 1).Checkpoint(5, true, 50).Steps(5, 5, 1);
  // Ten steps, of which nine lie between the first and the last, a millisecond each; the checkpoint's first line and
  // its last one are a millisecond apart from the steps around them.
  EXPECT_NEAR(*blocking.trace().SecondsPerStep(), 0.010 / 9, 1e-9);
  ToldLeg beside;
  beside.Steps(5, 0, 1).Say("step=5,checkpoint_begin=5").Steps(4, 5, 1).Say("step=9,checkpoint_end=5").Steps(1, 9, 1);
  EXPECT_NEAR(*beside.trace().SecondsPerStep(), 0.011 / 9, 1e-9);
  ToldLeg one;
  one.Steps(1, 0, 1);
  EXPECT_FALSE(one.trace().SecondsPerStep());
}

TEST(LegTraceTest, LinesCountWhereNoMarkerDoes) {
  LegTrace lines(Ms(0));
  lines.TakeLines({5, {}, {}, {}}, PrintedSteps{101, 105, 1}, Ms(7));
  EXPECT_EQ(lines.steps(), 5);
  EXPECT_EQ(lines.first_step(), Ms(7));
  EXPECT_EQ(lines.printed()->first, 101);
  EXPECT_FALSE(lines.from_markers());
  // A job that tells its checkpoints by markers and its steps by lines.
  lines.Take(*ParseMarker("step=0,checkpoint_begin=105"), Ms(8));
  lines.TakeLines({7, {}, {}, {}}, PrintedSteps{101, 107, 1}, Ms(9));
  EXPECT_EQ(lines.steps(), 7);
  EXPECT_EQ(lines.checkpoints().size(), 1U);
  ToldLeg both;
  both.Steps(2, 0, 1);
  LegTrace trace = both.trace();
  trace.TakeLines({50, {}, {}, {}}, {}, Ms(9));
  EXPECT_EQ(trace.steps(), 2);
}

}  // namespace
}  // namespace idleburn
