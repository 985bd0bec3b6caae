#include "fleet/gauge_owners.h"

#include <gtest/gtest.h>

#include <numeric>

#include "fleet/exporter_fleet.h"

namespace idleburn {
namespace {

constexpr std::int64_t kHour = kNanosPerHour;

// An hour at $2: idle, productive and 5 minutes without data. Half of the observed time was busy.
UsageCost HourOfUse() {
  UsageCost usage;
  usage.window_ns = kHour;
  usage.phase_ns = {kHour * 25 / 60, 0, kHour * 30 / 60, 0};
  usage.observed_ns = kHour * 55 / 60;
  usage.unobserved_ns = kHour * 5 / 60;
  usage.total = Money::Cents(200);
  usage.waste = Money::Nano(200 * Money::Cents(1).nano() * 55 / 120);
  return usage;
}

PhaseMs SumOfParts(const std::vector<HeldPart>& parts) {
  PhaseMs sum{};
  for (const HeldPart& part : parts) {
    for (std::size_t p = 0; p < kFleetPhaseCount; ++p) sum[p] += part.time.phases[p];
  }
  return sum;
}

TEST(GaugeOwnersTest, PhasesAndMoneyAreSplitWithoutARest) {
  const UsageCost usage = HourOfUse();
  const FleetTime time = GpuTimeOf(usage);
  EXPECT_EQ(time.phases, (PhaseMs{1'500'000, 0, 1'800'000, 0, 300'000}));
  HeldByOwner held;
  held["job 1"] = {{kHour / 3, 0, 0, 0}, 0};
  held["job 2"] = {{0, 0, kHour / 2 + 7, 0}, static_cast<double>(kHour) * 0.4};
  held[""] = {{kHour / 12, 0, 0, 0}, 0};
  const std::vector<HeldPart> parts = SplitByOwner(time, usage, held, kFleetUnallocated).value();
  ASSERT_EQ(parts.size(), 4U);
  EXPECT_EQ(SumOfParts(parts), time.phases);
  std::int64_t cost = 0;
  std::int64_t waste = 0;
  for (const HeldPart& part : parts) {
    cost += part.cost.total->nano();
    waste += part.cost.waste->nano();
    EXPECT_LE(*part.cost.waste, *part.cost.total) << part.owner;
    EXPECT_GE(part.cost.waste->nano(), 0) << part.owner;
  }
  EXPECT_EQ(cost, usage.total->nano());
  EXPECT_EQ(waste, usage.waste->nano());
  EXPECT_EQ(parts[0].owner, kFleetUnallocated);
  EXPECT_EQ(parts[0].time.phases, (PhaseMs{300'000, 0, 0, 0, 0}));
  EXPECT_EQ(parts[1].owner, "job 1");
  EXPECT_EQ(parts[1].time.phases, (PhaseMs{1'200'000, 0, 0, 0, 0}));
  EXPECT_EQ(parts[2].owner, "job 2");
  EXPECT_EQ(parts[2].time.phases, (PhaseMs{0, 0, 1'800'000, 0, 0}));
  // A hole has no label, so it has no owner.
  EXPECT_EQ(parts[3].owner, kFleetUnknown);
  EXPECT_EQ(parts[3].time.phases, (PhaseMs{0, 0, 0, 0, 300'000}));
}

TEST(GaugeOwnersTest, AnIdleOwnerWastesAllThatItCost) {
  // The readings by owner show less waste than the GPU has, so the useful cost is split.
  UsageCost usage = HourOfUse();
  usage.waste = Money::Cents(150);
  HeldByOwner held;
  held["job 1"] = {{kHour / 2, 0, 0, 0}, 0};
  held["job 2"] = {{0, 0, kHour / 2, 0}, static_cast<double>(kHour) * 0.45};
  const std::vector<HeldPart> parts = SplitByOwner(GpuTimeOf(usage), usage, held, kFleetUnallocated).value();
  EXPECT_EQ(parts[0].cost.waste, parts[0].cost.total);
  EXPECT_LT(*parts[1].cost.waste, *parts[1].cost.total);
}

TEST(GaugeOwnersTest, WithoutReadingsByOwnerAllTimeHasTheBucket) {
  const UsageCost usage = HourOfUse();
  const FleetTime time = GpuTimeOf(usage);
  const std::vector<HeldPart> parts = SplitByOwner(time, usage, {}, kFleetUnknown).value();
  EXPECT_EQ(SumOfParts(parts), time.phases);
  for (const HeldPart& part : parts) EXPECT_EQ(part.owner, kFleetUnknown);
}

TEST(GaugeOwnersTest, SlicesOfNoInstanceAreUnallocatedAndUnobserved) {
  UsageCost usage = HourOfUse();
  usage.unallocated_ns = kHour;
  const FleetTime time = GpuTimeOf(usage);
  EXPECT_EQ(time.phases[kFleetUnobserved], 300'000 + 3'600'000);
  const std::vector<HeldPart> parts = SplitByOwner(time, usage, {}, "job 1").value();
  ASSERT_EQ(parts.size(), 3U);
  EXPECT_EQ(parts[1].owner, kFleetUnknown);
  EXPECT_EQ(parts[1].time.phases[kFleetUnobserved], 300'000);
  EXPECT_EQ(parts[2].owner, kFleetUnallocated);
  EXPECT_EQ(parts[2].time.phases[kFleetUnobserved], 3'600'000);
}

TEST(GaugeOwnersTest, WithoutAPriceThereIsNoAmount) {
  UsageCost usage = HourOfUse();
  usage.total.reset();
  usage.waste.reset();
  const std::vector<HeldPart> parts = SplitByOwner(GpuTimeOf(usage), usage, {}, kFleetUnknown).value();
  for (const HeldPart& part : parts) {
    EXPECT_FALSE(part.cost.total);
    EXPECT_FALSE(part.cost.waste);
  }
}

// jobstats tells the job as the value of a metric of its own, so no label of the utilization names it.
TEST(GaugeOwnersTest, JobsThatAnotherMetricNamesTakeTheirShareOfTimeWithoutAnOwner) {
  HeldByOwner held;
  held[""] = {{1000, 0, 3000, 0}, 2000};
  held["job 1"] = {{500, 0, 0, 0}, 0};
  AddNamedElsewhere({{"", 0.25, false}, {"job 1", 0.1, false}, {"job 2", 0.75, false}}, &held);
  EXPECT_EQ(held.at("job 2").phase_ns, (std::array<std::int64_t, kPhaseCount>{750, 0, 2250, 0}));
  EXPECT_EQ(held.at("").phase_ns, (std::array<std::int64_t, kPhaseCount>{250, 0, 750, 0}));
  EXPECT_DOUBLE_EQ(held.at("job 2").busy_ns + held.at("").busy_ns, 2000);
  EXPECT_EQ(held.at("job 1").phase_ns, (std::array<std::int64_t, kPhaseCount>{500, 0, 0, 0}));
}

TEST(ExporterFleetTest, TheIntervalIsThatOfABinomialShare) {
  EXPECT_NEAR(GaugeHalfWidth(0.5, 100), 0.098, 1e-12);
  EXPECT_NEAR(GaugeHalfWidth(0.9, 900), 1.96 * 0.01, 1e-12);
  EXPECT_EQ(GaugeHalfWidth(0, 10), 0);
  EXPECT_EQ(GaugeHalfWidth(1.0000001, 10), 0);
  EXPECT_EQ(GaugeHalfWidth(0.5, 0), 1);
}

}  // namespace
}  // namespace idleburn
