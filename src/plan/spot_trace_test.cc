#include "plan/spot_trace.h"

#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <cmath>
#include <map>

#include "support/property.h"
#include "text/line_reader.h"

namespace idleburn {

// Events to seats, seats to a trace, a trace to hours, and simulation. Histories are a few hours long, so that every
// figure can be counted; random ones are held against a slow state machine and against formulas.

namespace {

using std::chrono::seconds;

Result<NodeEvents> Read(const std::string& text) {
  StringSource in(text, "events.csv");
  return ReadNodeEvents(in);
}

std::string ErrorOf(const std::string& text) {
  const Result<NodeEvents> events = Read(text);
  return events ? "" : events.error().message;
}

constexpr std::string_view kHeader = "trace,t_s,event,node\n";

TEST(NodeEventsTest, SeatsAreFilledAgain) {
  const NodeEvents events = Read(std::string(kHeader) +
                                 "a,0,add,n1\na,10,add,n2\na,100,remove,n1\na,110,remove,n2\n"
                                 "a,130.5,add,n3\na,200,add,n4\na,300,remove,n3\n")
                                .value();
  ASSERT_EQ(events.histories.size(), 1U);
  const InterruptionHistory& history = events.histories[0];
  EXPECT_EQ(history.trace, "a");
  EXPECT_EQ(history.end, seconds(300));
  ASSERT_EQ(history.seats.size(), 2U);
  ASSERT_EQ(history.seats[0].size(), 2U);  // the longest empty is filled first
  EXPECT_EQ(history.seats[0][0].end, seconds(100));
  EXPECT_TRUE(history.seats[0][0].lost);
  EXPECT_EQ(history.seats[0][1].start, std::chrono::milliseconds(130'500));
  EXPECT_EQ(history.seats[0][1].end, seconds(300));
  EXPECT_TRUE(history.seats[0][1].lost);
  ASSERT_EQ(history.seats[1].size(), 2U);
  EXPECT_EQ(history.seats[1][1].start, seconds(200));
  EXPECT_EQ(history.seats[1][1].end, seconds(300));  // still there when the history ends
  EXPECT_FALSE(history.seats[1][1].lost);
  EXPECT_EQ(events.added_twice.rows + events.removed_unknown.rows, 0);
}

TEST(NodeEventsTest, FactsByHand) {
  // Two seats: up 100 + 170 and 100 + 100 s, lost three times; seen for 300 and 290 s.
  const NodeEvents events = Read(std::string(kHeader) +
                                 "a,0,add,n1\na,10,add,n2\na,100,remove,n1\na,110,remove,n2\n"
                                 "a,130,add,n3\na,200,add,n4\na,300,remove,n3\n")
                                .value();
  const UptimeFacts facts = FactsOf(events.histories[0]);
  EXPECT_EQ(facts.losses, 3);
  EXPECT_DOUBLE_EQ(facts.up / seconds(1), 470);
  EXPECT_DOUBLE_EQ(*facts.mean_uptime / seconds(1), 470.0 / 3);
  EXPECT_DOUBLE_EQ(facts.up_fraction, 470.0 / 590);
}

TEST(NodeEventsTest, NothingLostHasNoMeanUptime) {
  const UptimeFacts facts = FactsOf(Read("t_s,event,node\n0,add,a\n60,add,b\n")->histories[0]);
  EXPECT_FALSE(facts.mean_uptime);
  EXPECT_EQ(facts.up_fraction, 1);
}

TEST(NodeEventsTest, ANameThatComesBackTakesItsOwnSeat) {
  const NodeEvents events =
      Read("t_s,event,node\n0,add,a\n0,add,b\n10,remove,a\n20,remove,b\n30,add,b\n40,add,a\n").value();
  const InterruptionHistory& history = events.histories[0];
  EXPECT_EQ(history.trace, "events.csv");
  EXPECT_EQ(history.seats[0][1].start, seconds(40));
  EXPECT_EQ(history.seats[1][1].start, seconds(30));
}

TEST(NodeEventsTest, TracesAreKeptApart) {
  const NodeEvents events = Read(std::string(kHeader) + "b,5,add,n\na,0,add,n\nb,9,remove,n\na,1,remove,n\n").value();
  ASSERT_EQ(events.histories.size(), 2U);
  EXPECT_EQ(events.histories[0].trace, "b");
  EXPECT_EQ(events.histories[1].end, seconds(1));
}

TEST(NodeEventsTest, ContradictionsAreCounted) {
  const NodeEvents events =
      Read("t_s,event,node\n0,add,a\n1,add,a\n2,remove,b\n3,remove,a\n4,remove,a\n5,add,a\n").value();
  EXPECT_EQ(events.added_twice.rows, 1);
  EXPECT_EQ(events.added_twice.first, "events.csv:3");
  EXPECT_EQ(events.removed_unknown.rows, 2);
  EXPECT_EQ(events.removed_unknown.first, "events.csv:4");
  EXPECT_EQ(events.histories[0].seats[0].size(), 2U);
}

TEST(NodeEventsTest, SaysWhatIsWrongAndWhere) {
  EXPECT_EQ(ErrorOf("t_s,event\n0,add\n"), "events.csv:1: no column 'node' in the header; add it");
  EXPECT_EQ(ErrorOf("t_s,event,node\n"), "events.csv: no events under the header; add rows of added and removed nodes");
  EXPECT_EQ(ErrorOf("t_s,event,node\nsoon,add,a\n"),
            "events.csv:2: t_s: 'soon' is not a time; write seconds from the start of the history, like 480.0");
  EXPECT_EQ(ErrorOf("t_s,event,node\n-1,add,a\n"),
            "events.csv:2: t_s: '-1' is not a time; write seconds from the start of the history, like 480.0");
  EXPECT_EQ(ErrorOf("t_s,event,node\n5,add,a\n4,add,b\n"),
            "events.csv:3: t_s: '4' is earlier than the row before it; sort each trace by time");
  EXPECT_EQ(ErrorOf("t_s,event,node\n5,moved,a\n"),
            "events.csv:2: event: 'moved' is not an event; write add or remove");
  EXPECT_EQ(ErrorOf("t_s,event,node\n5,add,\n"), "events.csv:2: node: '' is empty; name the machine of each event");
}

// Whatever happens to a fleet, its seats hold as many machines as are there, and their time up is what was added less
// what was removed, which a set of names and a sum say too.
TEST(NodeEventsTest, SeatsHoldWhatIsThere) {
  test::ExpectProperty("time up", [] {
    std::string text = "t_s,event,node\n";
    std::map<int, std::int64_t> there;
    std::int64_t at = 0;
    std::int64_t up = 0;
    std::int64_t losses = 0;
    std::size_t most = 0;
    const int rows = *rc::gen::inRange(1, 60);
    for (int i = 0; i < rows; ++i) {
      at += *rc::gen::inRange(0, 50);
      const int node = *rc::gen::inRange(0, 8);
      const auto known = there.find(node);
      text += std::to_string(at) + (known == there.end() ? ",add,n" : ",remove,n") + std::to_string(node) + "\n";
      if (known == there.end()) {
        there.emplace(node, at);
        most = std::max(most, there.size());
      } else {
        up += at - known->second;
        ++losses;
        there.erase(known);
      }
    }
    for (const auto& [node, since] : there) up += at - since;
    const NodeEvents events = Read(text).value();
    const UptimeFacts facts = FactsOf(events.histories[0]);
    RC_ASSERT(facts.losses == losses);
    RC_ASSERT(events.histories[0].seats.size() == most);
    RC_ASSERT(std::abs(facts.up / seconds(1) - static_cast<double>(up)) < 1e-6);
    for (const SeatHistory& seat : events.histories[0].seats) {
      for (std::size_t i = 0; i < seat.size(); ++i) {
        RC_ASSERT(seat[i].start <= seat[i].end);
        if (i > 0) RC_ASSERT(seat[i - 1].end <= seat[i].start);
        RC_ASSERT(seat[i].lost || i + 1 == seat.size());
      }
    }
  });
}

using std::chrono::minutes;

// An hour of work, a checkpoint of 2 minutes after every 10, 3 minutes to restart.
constexpr CheckpointedWork kJob{Hours(1), minutes(10), minutes(2), minutes(3)};

double InMinutes(Hours span) { return span / minutes(1); }

TEST(JobRunTest, NoCheckpointWhenAllIsDone) {
  JobProgress progress;
  const auto used = UseMachine(kJob, {}, Hours(10), progress);
  EXPECT_DOUBLE_EQ(InMinutes(*used), 3 + 60 + 5 * 2);
  EXPECT_DOUBLE_EQ(InMinutes(progress.billed), 73);
  EXPECT_EQ(progress.interruptions, 0);
}

TEST(JobRunTest, OnlyCompletedCheckpointsCount) {
  // 3 to restart, two of 12 minutes each, and a third that lacks a second.
  JobProgress progress;
  EXPECT_FALSE(UseMachine(kJob, {}, minutes(3 + 36) - std::chrono::seconds(1), progress));
  EXPECT_DOUBLE_EQ(InMinutes(progress.kept), 20);
  EXPECT_FALSE(UseMachine(kJob, {}, minutes(3 + 12), progress));  // this one is just complete
  EXPECT_DOUBLE_EQ(InMinutes(progress.kept), 30);
  EXPECT_EQ(progress.interruptions, 2);
  EXPECT_DOUBLE_EQ(InMinutes(*UseMachine(kJob, {}, Hours(9), progress)), 3 + 30 + 2 * 2);
}

TEST(JobRunTest, AMachineThatGoesWhileTheJobStartsGivesNothing) {
  JobProgress progress;
  EXPECT_FALSE(UseMachine(kJob, minutes(2), minutes(1), progress));
  EXPECT_EQ(progress.billed, Hours{});  // provisioning is not billed
  EXPECT_FALSE(UseMachine(kJob, minutes(2), std::chrono::seconds(150), progress));
  EXPECT_DOUBLE_EQ(InMinutes(progress.billed), 0.5);
  EXPECT_EQ(progress.kept, Hours{});
  EXPECT_EQ(progress.interruptions, 2);
}

TEST(JobRunTest, AnIntervalBeyondTheWorkWritesNothing) {
  CheckpointedWork job = kJob;
  job.interval = Hours(1);
  JobProgress progress;
  EXPECT_DOUBLE_EQ(InMinutes(*UseMachine(job, {}, Hours(2), progress)), 63);
}

// The same second by second: restart, then work and checkpoints, as a state machine.
JobProgress StepBySecond(const CheckpointedWork& job, std::int64_t available, JobProgress progress, bool* done) {
  const auto whole = [](Hours h) { return static_cast<std::int64_t>(h / std::chrono::seconds(1) + 0.5); };
  std::int64_t restart = whole(job.restart);
  std::int64_t kept = whole(progress.kept);
  std::int64_t worked = 0;
  std::int64_t writing = 0;
  std::int64_t second = 0;
  *done = false;
  for (; second < available; ++second) {
    if (restart > 0) {
      --restart;
    } else if (writing > 0) {
      if (--writing == 0) {
        kept += worked;
        worked = 0;
      }
    } else if (++worked + kept == whole(job.work)) {
      *done = true;
      ++second;
      break;
    } else if (worked == whole(job.interval)) {
      writing = whole(job.checkpoint);
    }
  }
  progress.kept = *done ? job.work : Hours(std::chrono::seconds(kept));
  progress.billed += std::chrono::seconds(second);
  progress.interruptions += *done ? 0 : 1;
  return progress;
}

TEST(JobRunTest, AgreesWithAStateMachineOfSeconds) {
  test::ExpectProperty("seconds", [] {
    const auto some = [](int from, int to) { return Hours(std::chrono::seconds(*rc::gen::inRange(from, to))); };
    const CheckpointedWork job{some(1, 2000), some(1, 400), some(1, 60), some(0, 100)};
    JobProgress fast;
    JobProgress slow;
    for (int stay = 0; stay < 6; ++stay) {
      const int available = *rc::gen::inRange(0, 900);
      bool done = false;
      slow = StepBySecond(job, available, slow, &done);
      const auto used = UseMachine(job, {}, std::chrono::seconds(available), fast);
      RC_ASSERT(used.has_value() == done);
      RC_ASSERT(std::abs((fast.kept - slow.kept).count()) < 1e-9);
      RC_ASSERT(std::abs((fast.billed - slow.billed).count()) < 1e-9);
      RC_ASSERT(fast.interruptions == slow.interruptions);
      if (done) break;
    }
  });
}

using std::chrono::hours;

// Two seats of ten hours: up 0-4 (lost), 5-10; and 2-6 (lost), 9-10.
InterruptionHistory TwoSeats() {
  InterruptionHistory history;
  history.end = hours(10);
  history.seats = {{{hours(0), hours(4), true}, {hours(5), hours(10), false}},
                   {{hours(2), hours(6), true}, {hours(9), hours(10), false}}};
  return history;
}

std::vector<double> Counts(const std::vector<Hours>& spans) {
  std::vector<double> counts;
  for (const Hours span : spans) counts.push_back(span.count());
  return counts;
}

TEST(SpotTraceTest, TheEndOfARecordIsNoLoss) {
  const SpotTrace trace = SpotTrace::EndToEnd(TwoSeats()).value();
  EXPECT_EQ(trace.losses(), 2U);
  EXPECT_EQ(trace.length(), Hours(18));
  // 5 hours of the first seat and 4 of the second are one stay; the last hour and the first four another.
  EXPECT_EQ(Counts(trace.Lengths().up), (std::vector<double>{9, 5}));
  EXPECT_EQ(Counts(trace.Lengths().down), (std::vector<double>{3, 1}));
  EXPECT_EQ(trace.mean_uptime(), Hours(7));
  EXPECT_DOUBLE_EQ(trace.up_fraction(), 14.0 / 18);
}

TEST(SpotTraceTest, OneSeatGoesRound) {
  const SpotTrace trace = SpotTrace::EndToEnd(TwoSeats(), 0, 1).value();
  EXPECT_EQ(Counts(trace.Lengths().up), (std::vector<double>{9}));
  EXPECT_EQ(Counts(trace.Lengths().down), (std::vector<double>{1}));
}

TEST(SpotTraceTest, WithoutALossThereIsNothingToReplay) {
  InterruptionHistory history;
  EXPECT_FALSE(SpotTrace::EndToEnd(history));
  history.end = hours(3);
  history.seats = {{{hours(0), hours(3), false}}};
  EXPECT_FALSE(SpotTrace::EndToEnd(history));
  history.seats = {{{hours(3), hours(3), true}}};  // lost as it came: no time to work in
  EXPECT_FALSE(SpotTrace::EndToEnd(history));
}

TEST(SpotTraceTest, BilledByHand) {
  // Nine hours up, one down. A job of 3 hours, a checkpoint each hour, nothing for writing or starting. Ten starts, on
  // the half hours from 5 o'clock on, when the stay begins: six fit; 1.5 hours before its end one loses half an hour,
  // as do those 2.5 and 0.5 before; the one in the down hour waits. 30 hours of work and 3 halves again.
  const SpotTrace trace = SpotTrace::EndToEnd(TwoSeats(), 0, 1).value();
  const CheckpointedWork job{Hours(3), Hours(1), Hours(0), Hours(0)};
  EXPECT_NEAR(trace.MeanBilled(job, {}, 10)->count(), 3 + 3 * 0.5 / 10, 1e-9);
}

TEST(SpotTraceTest, AJobThatGetsNowhereHasNoHours) {
  const SpotTrace trace = SpotTrace::EndToEnd(TwoSeats()).value();
  const CheckpointedWork job{Hours(20), Hours(20), Hours(0.1), Hours(0.1)};
  EXPECT_FALSE(trace.MeanBilled(job, {}, 3));
  EXPECT_FALSE(ChooseInterval(trace, {Hours(20), {}, Hours(40), Hours(10)}, {}, 3));
}

TEST(SpotTraceTest, TheBestIntervalIsTheBestOfThoseTried) {
  const SpotTrace trace = SpotTrace::EndToEnd(TwoSeats()).value();
  CheckpointedWork job{Hours(6), {}, Hours(0.1), Hours(0.2)};
  const IntervalChoice choice = ChooseInterval(trace, job, {}, 50).value();
  EXPECT_EQ(choice.young, YoungInterval(Hours(0.1), Hours(7)));
  EXPECT_GE(choice.regret, 0);
  EXPECT_DOUBLE_EQ(choice.regret, choice.billed_young / choice.billed_best - 1);
  job.interval = choice.young;
  EXPECT_EQ(trace.MeanBilled(job, {}, 50), choice.billed_young);
  job.interval = choice.best;
  EXPECT_EQ(trace.MeanBilled(job, {}, 50), choice.billed_best);
  int tried = 1;
  for (double length = 1; length < 6 * 60 * 1.1; length *= 1.1, ++tried) {  // in minutes
    job.interval = Hours(length / 60);
    EXPECT_GE(*trace.MeanBilled(job, {}, 50), choice.billed_best - Hours(1e-9)) << length;
  }
  EXPECT_EQ(choice.tried, tried);
}

constexpr WorkHours Known(double work) { return {Hours(work), Hours(work), Hours(work)}; }
CheckpointedWork Job(double work, double interval, double checkpoint, double restart) {
  return {Hours(work), Hours(interval), Hours(checkpoint), Hours(restart)};
}

SpotOutlook Simulated(const CheckpointedWork& job, const UpAndDown& machines, SimulationSpec spec = {}) {
  return SimulateSpot(Known(job.work.count()), job, {}, machines, spec);
}

TEST(SimulateSpotTest, EqualSeedsGiveEqualResults) {
  const CheckpointedWork job = Job(6, 0.2, 0.01, 0.05);
  const UpAndDown machines{Hours(2), Hours(1), {}};
  const SpotOutlook one = Simulated(job, machines);
  const SpotOutlook same = Simulated(job, machines);
  SimulationSpec other;
  other.seed = 2;
  EXPECT_EQ(one.runs, 2000);
  EXPECT_EQ(one.wall_p95, same.wall_p95);
  EXPECT_EQ(one.billed_mean, same.billed_mean);
  EXPECT_NE(one.wall_p95, Simulated(job, machines, other).wall_p95);
}

// Segments of tau + C, each tried until it comes through, are what Daly's formula is exact for; the simulated job
// differs by its first start and by the last checkpoint, which it does not write.
TEST(SimulateSpotTest, ExponentialLossesCostWhatDalySays) {
  SimulationSpec spec;
  spec.runs = 20'000;
  for (const double mean_uptime : {1.0, 3.0, 10.0}) {
    const CheckpointedWork job = Job(10, 0.25, 0.02, 0.1);
    const SpotOutlook outlook = Simulated(job, {Hours(mean_uptime), {}, {}}, spec);
    const double m = mean_uptime;
    const double segment = std::exp(0.1 / m) * std::expm1(0.27 / m) * m;
    EXPECT_NEAR(DalyTime(job, Hours(m)).count(), 40 * segment, 1e-9);
    // The first segment is preceded by a start, which may fail too; the last does not write.
    const double first = m * std::expm1(0.37 / m) - segment;
    const double last = std::exp(0.1 / m) * m * (std::expm1(0.25 / m) - std::expm1(0.27 / m));
    const double expected = 40 * segment + first + last;
    EXPECT_NEAR(outlook.billed_mean->count() / expected, 1, 0.01) << mean_uptime;
    EXPECT_NEAR(*outlook.interruptions_mean / (expected / m), 1, 0.02) << mean_uptime;
  }
}

// A job without checkpoints, restarts or losses that matter waits for a machine with chance 1 - p, and D on average.
TEST(SimulateSpotTest, WaitsWhereNoMachineIsThere) {
  SimulationSpec spec;
  spec.runs = 20'000;
  spec.deadline = Hours(0.0011);
  const SpotOutlook outlook = Simulated(Job(0.001, 1, 0, 0), {Hours(4), MeanDownTime(Hours(4), 0.8), {}}, spec);
  EXPECT_NEAR(*outlook.deadline_met, 0.8, 0.01);
  EXPECT_NEAR(outlook.wall_p50->count(), 0.001, 1e-9);
  // P(wait > t) = 0.2 e^-t for D = 1 h: its 95th percentile is ln 4.
  EXPECT_NEAR(outlook.wall_p95->count(), std::log(4.0), 0.06);
}

TEST(SimulateSpotTest, DrawsTheLengthsThatWereSeen) {
  // Always three hours up, one down: a job of two hours without checkpoints starts in an up time with chance 3/4, with
  // an even rest. A third of those fit; others lose the rest, which is even in (0, 2).
  UpAndDown machines{Hours(3), Hours(1), {{Hours(3)}, {Hours(1)}}};
  SimulationSpec spec;
  spec.runs = 20'000;
  const SpotOutlook outlook = Simulated(Job(2, 2, 0, 0), machines, spec);
  EXPECT_NEAR(*outlook.interruptions_mean, 0.75 * 2 / 3, 0.015);
  EXPECT_NEAR(outlook.billed_mean->count(), 2 + 0.75 * 2 / 3 * 1, 0.02);
  EXPECT_LE(outlook.wall_p95->count(), 2 + 1 + 2);
}

TEST(SimulateSpotTest, LongStaysAreHitMoreOften) {
  // Nine stays of an hour, one of 91: most moments lie in the long one, and a job of half an hour hardly ever is lost.
  UpAndDown machines{Hours(10), {}, {{}, {Hours(0)}}};
  machines.lengths.up.assign(9, Hours(1));
  machines.lengths.up.emplace_back(91);
  SimulationSpec spec;
  spec.runs = 20'000;
  EXPECT_NEAR(*Simulated(Job(0.5, 1, 0, 0), machines, spec).interruptions_mean, 0.09 / 2 + 0.91 * 0.5 / 91, 0.005);
}

TEST(SimulateSpotTest, DoubtAboutTheWorkIsDoubtAboutTheTime) {
  SimulationSpec spec;
  spec.runs = 20'000;
  const WorkHours work{Hours(8), Hours(10), Hours(15)};
  const SpotOutlook outlook = SimulateSpot(work, Job(10, 10, 0, 0), {}, {Hours(1e9), {}, {}}, spec);
  EXPECT_NEAR(outlook.wall_p50->count(), 10, 0.06);
  EXPECT_NEAR(outlook.wall_p95->count(), 15, 0.2);
  EXPECT_NEAR(outlook.billed_p05->count(), 8, 0.1);
}

TEST(SimulateSpotTest, ProvisioningIsTimeButNoMoney) {
  const UpAndDown machines{Hours(1e9), {}, {}};
  const CheckpointedWork job = Job(1, 1, 0, 0.5);
  const SpotOutlook outlook = SimulateSpot(Known(1), job, Hours(0.2), machines, {});
  EXPECT_NEAR(outlook.wall_p50->count(), 1.5, 1e-9);
  EXPECT_NEAR(outlook.billed_mean->count(), 1.3, 1e-9);
}

TEST(SimulateSpotTest, AJobThatGetsNowhereSaysSo) {
  SimulationSpec spec;
  spec.runs = 10;
  spec.deadline = Hours(1e6);
  const SpotOutlook outlook = Simulated(Job(100, 100, 0.1, 0.1), {Hours(0.5), {}, {}}, spec);
  EXPECT_EQ(outlook.unfinished, 10);
  EXPECT_FALSE(outlook.wall_p50);
  EXPECT_FALSE(outlook.billed_mean);
  EXPECT_FALSE(outlook.interruptions_mean);
  EXPECT_EQ(*outlook.deadline_met, 0);
}

TEST(SimulateSpotTest, MoreNodesAreLostMoreOften) {
  const UpAndDown machines{Hours(8), Hours(1), {{Hours(4), Hours(12)}, {Hours(1)}}};
  const UpAndDown job = OfJob(machines, 4);
  EXPECT_EQ(job.mean_up, Hours(2));
  EXPECT_EQ(job.lengths.up, (std::vector<Hours>{Hours(1), Hours(3)}));
  EXPECT_EQ(job.lengths.down, machines.lengths.down);
}

}  // namespace

}  // namespace idleburn
