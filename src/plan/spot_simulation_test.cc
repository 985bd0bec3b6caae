#include "plan/spot_simulation.h"

#include <gtest/gtest.h>

#include <cmath>

namespace idleburn {
namespace {

constexpr WorkHours Known(double hours) { return {Hours(hours), Hours(hours), Hours(hours)}; }
CheckpointedWork Job(double hours, double interval, double checkpoint, double restart) {
  return {Hours(hours), Hours(interval), Hours(checkpoint), Hours(restart)};
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
