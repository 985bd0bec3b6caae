#include "plan/spot_trace.h"

#include <gtest/gtest.h>

namespace idleburn {
namespace {

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
  for (double minutes = 1; minutes < 6 * 60 * 1.1; minutes *= 1.1, ++tried) {
    job.interval = Hours(minutes / 60);
    EXPECT_GE(*trace.MeanBilled(job, {}, 50), choice.billed_best - Hours(1e-9)) << minutes;
  }
  EXPECT_EQ(choice.tried, tried);
}

}  // namespace
}  // namespace idleburn
