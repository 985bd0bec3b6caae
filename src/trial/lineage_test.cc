#include "trial/lineage.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "support/property.h"
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

using test::ToldLeg;

std::vector<std::string_view> IdsOf(const RoundReading& reading) {
  std::vector<std::string_view> ids;
  for (const DrillFault& fault : reading.faults) ids.push_back(InfoOf(fault.reason).id);
  return ids;
}
using Ids = std::vector<std::string_view>;

// 60 steps of 4 samples, with checkpoints after 20 and 40 of them.
ToldLeg First() {
  ToldLeg leg;
  leg.Say("step=0,resumed=0").Steps(20, 0, 4).Checkpoint(20).Steps(20, 80, 4).Checkpoint(40).Steps(20, 160, 4);
  return leg;
}
RoundReading After(const ToldLeg& next) { return Lineage(First().trace()).Continue(next.trace(), {}); }
ToldLeg From(std::int64_t step, std::int64_t position, std::int64_t order = 0) {
  ToldLeg leg;
  leg.Say("step=0,resumed=" + std::to_string(step)).Steps(5, position, 4, order);
  return leg;
}

TEST(LineageTest, WorkSinceTheCheckpointIsLostAndNothingElse) {
  const RoundReading reading = After(From(40, 160));
  EXPECT_TRUE(reading.clean()) << reading.faults.front().text;
  EXPECT_EQ(reading.stopped_at, 60);
  EXPECT_EQ(reading.checkpoint_at, 40);
  EXPECT_EQ(reading.resumed_at, 40);
  EXPECT_EQ(reading.lost_steps, 20);
  EXPECT_EQ(reading.lost_samples, 80);
  EXPECT_EQ(reading.lost_beyond_checkpoint, 0);
  EXPECT_EQ(reading.skipped, 0);
  EXPECT_EQ(reading.repeated, 0);
  EXPECT_EQ(reading.order_kept, true);
}

TEST(LineageTest, EachFaultIsNamed) {
  EXPECT_EQ(IdsOf(After(From(40, 172))), Ids{"skips"});
  EXPECT_EQ(After(From(40, 172)).skipped, 12);
  EXPECT_EQ(IdsOf(After(From(40, 0))), Ids{"repeats"});
  EXPECT_EQ(After(From(40, 0)).repeated, 160);
  EXPECT_EQ(IdsOf(After(From(0, 0))), Ids{"restarts_from_zero"});
  EXPECT_EQ(After(From(0, 0)).lost_beyond_checkpoint, 40);
  EXPECT_EQ(IdsOf(After(From(20, 80))), Ids{"older_checkpoint"});
  EXPECT_EQ(After(From(20, 80)).lost_beyond_checkpoint, 20);
  EXPECT_EQ(IdsOf(After(From(45, 160))), Ids{"ahead_of_checkpoint"});
  EXPECT_EQ(IdsOf(After(From(70, 280))), Ids{"ahead_of_checkpoint"});
  EXPECT_EQ(IdsOf(After(From(40, 160, 7))), Ids{"order_changes"});
}

// Killed between the renaming and the marker that says so: the checkpoint was whole all the same.
TEST(LineageTest, ACheckpointThatWasBegunMayHaveBeenWhole) {
  ToldLeg first = First();
  first.Checkpoint(60, false);
  Lineage lineage(first.trace());
  const RoundReading reading = lineage.Continue(From(60, 240).trace(), {});
  EXPECT_TRUE(reading.clean());
  EXPECT_EQ(reading.checkpoint_at, 40);
  EXPECT_EQ(reading.lost_steps, 0);
}

// The step follows from the first position, where the job does not say it.
TEST(LineageTest, PositionsAloneTellTheStep) {
  ToldLeg next;
  next.Steps(3, 160, 4);
  const RoundReading reading = After(next);
  EXPECT_EQ(reading.resumed_at, 40);
  EXPECT_TRUE(reading.clean());
  ToldLeg nowhere;
  nowhere.Steps(3, 161, 4);
  EXPECT_EQ(IdsOf(After(nowhere)), (Ids{"step_unknown", "samples_unknown"}));
}

TEST(LineageTest, BeforeTheFirstCheckpointThereIsNothingToGoOnFrom) {
  ToldLeg first;
  first.Say("step=0,resumed=0").Steps(10, 0, 4).Checkpoint(10, false);
  EXPECT_EQ(IdsOf(Lineage(first.trace()).Continue(From(0, 0).trace(), {})), Ids{"no_checkpoint_yet"});
  // Who never says one is not known to write any.
  ToldLeg silent;
  silent.Say("step=0,resumed=0").Steps(10, 0, 4);
  EXPECT_EQ(IdsOf(Lineage(silent.trace()).Continue(From(0, 0).trace(), {})), Ids{"restarts_from_zero"});
  EXPECT_EQ(IdsOf(Lineage(silent.trace()).Continue(From(0, 0).trace(), false)), Ids{"no_checkpoint_yet"});
  EXPECT_EQ(IdsOf(Lineage(silent.trace()).Continue(From(0, 0).trace(), true)), Ids{"restarts_from_zero"});
}

TEST(LineageTest, PrintedStepsGiveTheCoarsePart) {
  const auto printed = [](std::int64_t first, std::int64_t last, std::int64_t stride) {
    LegTrace trace(Nanos(0));
    trace.TakeLines({last - first + stride, {}, {}, {}}, PrintedSteps{first, last, stride}, Nanos(1));
    return trace;
  };
  const RoundReading reading = Lineage(printed(10, 120, 10)).Continue(printed(110, 150, 10), {});
  EXPECT_EQ(reading.stopped_at, 120);
  EXPECT_EQ(reading.resumed_at, 100);
  EXPECT_EQ(reading.lost_steps, 20);
  EXPECT_EQ(IdsOf(reading), Ids{"samples_unknown"});
  EXPECT_EQ(IdsOf(Lineage(printed(1, 50, 1)).Continue(printed(1, 9, 1), {})),
            (Ids{"restarts_from_zero", "samples_unknown"}));
  EXPECT_EQ(IdsOf(Lineage(printed(1, 50, 1)).Continue(printed(61, 70, 1), {})), Ids{"ahead_of_checkpoint"});
  EXPECT_EQ(IdsOf(Lineage(LegTrace(Nanos(0))).Continue(LegTrace(Nanos(0)), {})),
            (Ids{"step_unknown", "samples_unknown"}));
}

// Each rank has an order of its own; what they lose adds up.
TEST(LineageTest, RanksAreCountedEach) {
  ToldLeg first;
  first.Say("step=0,resumed=0");
  for (const char* rank : {",rank=0", ",rank=1"}) {
    for (int i = 0; i < 10; ++i) {
      first.Say("step=" + std::to_string(i + 1) + ",first_sample=" + std::to_string(4 * i) +
                ",last_sample=" + std::to_string(4 * i + 3) + rank);
    }
  }
  ToldLeg next;
  next.Say("step=1,resumed=8,first_sample=32,last_sample=35").Say("step=1,first_sample=30,last_sample=33,rank=1");
  const RoundReading reading = Lineage(first.trace()).Continue(next.trace(), {});
  EXPECT_EQ(reading.lost_samples, 16);
  EXPECT_EQ(reading.repeated, 2);
  EXPECT_EQ(IdsOf(reading), Ids{"repeats"});
}

// The naive twin: a job that keeps the very samples that its state has seen, and counts them.
class NaiveJob {
 public:
  struct State {
    std::int64_t step = 0;
    std::int64_t position = 0;
    std::vector<std::int64_t> samples;  // that it was trained on
  };
  void Begin(const State& from) {
    state_ = from;
    leg_ = ToldLeg();
    leg_.Say("step=0,resumed=" + std::to_string(from.step));
  }
  void Step(std::int64_t samples) {
    leg_.Steps(1, state_.position, samples);
    for (std::int64_t i = 0; i < samples; ++i) state_.samples.push_back(state_.position + i);
    state_.position += samples;
    ++state_.step;
  }
  void Save() {
    leg_.Checkpoint(state_.step);
    saved_.push_back(state_);
  }
  State state_;
  std::vector<State> saved_;
  ToldLeg leg_;
};

TEST(LineageTest, AgreesWithCountingTheSamplesThemselves) {
  test::ExpectProperty("lineage", [] {
    NaiveJob job;
    job.Begin({});
    const auto work = [&job] {
      const int steps = *rc::gen::inRange(1, 12);
      for (int i = 0; i < steps; ++i) {
        job.Step(*rc::gen::inRange(1, 6));
        if (*rc::gen::inRange(0, 4) == 0) job.Save();
      }
    };
    job.Step(1);
    job.Save();
    work();
    Lineage lineage(job.leg_.trace());
    const int rounds = *rc::gen::inRange(1, 4);
    for (int round = 0; round < rounds; ++round) {
      const NaiveJob::State before = job.state_;
      const bool last = round + 1 == rounds;
      // All but the last one go on where they should.
      const auto back = last ? *rc::gen::inRange<std::size_t>(0, job.saved_.size()) : 0;
      job.saved_.resize(job.saved_.size() - back);
      NaiveJob::State from = job.saved_.back();
      const std::int64_t due = from.position;
      if (last) from.position = std::max<std::int64_t>(0, from.position + *rc::gen::inRange(-9, 10));
      job.Begin(from);
      job.Step(*rc::gen::inRange(1, 6));
      work();
      const RoundReading reading = lineage.Continue(job.leg_.trace(), {});
      // Counted one by one.
      const std::set<std::int64_t> held(from.samples.begin(), from.samples.end());
      std::int64_t skipped = 0;
      std::int64_t repeated = 0;
      for (std::int64_t p = 0; p < due + 20; ++p) {
        skipped += p >= due && p < from.position ? 1 : 0;
        repeated += held.contains(p) && p >= from.position ? 1 : 0;
      }
      RC_ASSERT(reading.stopped_at == before.step);
      RC_ASSERT(reading.resumed_at == from.step);
      RC_ASSERT(reading.lost_steps == before.step - from.step);
      RC_ASSERT(reading.lost_samples == static_cast<std::int64_t>(before.samples.size() - from.samples.size()));
      RC_ASSERT(reading.skipped == skipped);
      RC_ASSERT(reading.repeated == repeated);
      RC_ASSERT((back > 0) == (reading.lost_beyond_checkpoint != 0));
    }
  });
}

}  // namespace

}  // namespace idleburn
