// What deciles, energy and PUE add up to, against seconds that are known one by one.
#include "fleet/gpu_use.h"

#include <gtest/gtest.h>

#include "stats/random.h"

namespace idleburn {
namespace {

constexpr std::int64_t kKwh = 3'600'000'000;  // millijoules

GpuCountersRead OneGpu(std::int64_t counter_mj, std::int64_t power_mj, const std::string& uuid = "GPU-1") {
  GpuCountersRead read;
  GpuCounterSum& sum = read.gpus[{"n", uuid}];
  sum.rise[kEnergyPlace] = counter_mj;
  sum.rise[kEnergyPlace + 1] = power_mj;
  return read;
}

TEST(GpuUseTest, DecilesBoundTheMeanOfEverySecond) {
  Random random(3);
  for (int round = 0; round < 200; ++round) {
    GpuUse use;
    double busy = 0;
    const int seconds = 1 + static_cast<int>(random.Uniform() * 500);
    for (int s = 0; s < seconds; ++s) {
      const double u = round % 5 == 0 ? 1.0 : random.Uniform();
      busy += u;
      use.decile_ms[std::min<std::size_t>(9, static_cast<std::size_t>(u * 10))] += 1000;
    }
    ASSERT_LE(static_cast<double>(use.BusyLowMs()), busy * 1000 + 1);
    ASSERT_GE(static_cast<double>(use.BusyHighMs()), busy * 1000 - 1);
    ASSERT_EQ(use.ObservedMs(), seconds * 1000);
    ASSERT_EQ(use.BusyHighMs() - use.BusyLowMs(), use.ObservedMs() / 10);
  }
}

TEST(GpuUseTest, TimeWithoutDataIsNamedAndInNoDecile) {
  GpuCountersRead read = OneGpu(0, 0);
  read.gpus[{"n", "GPU-1"}].rise[5] = 3'000'000;
  FleetReport report;
  FleetTime hour;
  hour.phases = {0, 3'000'000, 0, 0, 600'000};
  report.gpus = {{"GPU-1", "n", "", hour, {}}, {"GPU-without", "n", "", hour, {}}};
  const FleetGpuUse use = UseOf(read, report);
  EXPECT_EQ(use.whole.ObservedMs(), 3'000'000);
  EXPECT_EQ(use.whole.UnobservedMs(), 600'000);
  EXPECT_EQ(use.without_counter, 1);
  EXPECT_EQ(use.gpus.size(), 1U);
}

TEST(GpuUseTest, TheDriversCounterCountsAndPowerIsNeverAdded) {
  const FleetEnergy both = EnergyOf(OneGpu(2 * kKwh, 2 * kKwh - 5), {}, 1'000'000).value();
  EXPECT_EQ(both.millijoules, 2 * kKwh);
  EXPECT_EQ(both.apart, 0);
  EXPECT_EQ(both.gpus[0].source, EnergySource::kDriverCounter);
  const FleetEnergy power = EnergyOf(OneGpu(0, kKwh), {}, 1'000'000).value();
  EXPECT_EQ(power.millijoules, kKwh);
  EXPECT_EQ(power.gpus[0].source, EnergySource::kPower);
  const FleetEnergy none = EnergyOf(OneGpu(0, 0), {Money::Cents(10), 400, "USD"}, 1'000'000).value();
  EXPECT_EQ(none.gpus[0].source, EnergySource::kNone);
  EXPECT_FALSE(none.cost.has_value());
  // A counter that came and went misses time; the answer says so and does not mend it.
  EXPECT_EQ(EnergyOf(OneGpu(kKwh, 2 * kKwh), {}, 1'000'000)->apart, 1);
}

TEST(GpuUseTest, EmissionsAndCostAreThoseOfTheSiteAndHaveNoDefault) {
  const FleetEnergy plain = EnergyOf(OneGpu(10 * kKwh, 0), {}, 1'300'000).value();
  EXPECT_DOUBLE_EQ(plain.Kwh(), 10);
  EXPECT_DOUBLE_EQ(plain.SiteKwh(), 13);
  EXPECT_FALSE(plain.Co2eKg().has_value());
  EXPECT_FALSE(plain.cost.has_value());
  EnergyPrice price;
  price.per_kwh = Money::Parse("0.25").value();
  price.grams_co2e_per_kwh = 380;
  const FleetEnergy priced = EnergyOf(OneGpu(10 * kKwh, 0), price, 1'300'000).value();
  EXPECT_DOUBLE_EQ(*priced.Co2eKg(), 13 * 0.38);
  EXPECT_EQ(*priced.cost, Money::Parse("3.25").value());
}

TEST(GpuUseTest, APueBelowOneIsRefused) {
  EXPECT_EQ(ParsePue("1.3").value(), 1'300'000);
  EXPECT_EQ(ParsePue("1").value(), 1'000'000);
  for (const char* bad : {"0.9", "-1", "x", "", "130", "nan"}) {
    const auto refused = ParsePue(bad);
    ASSERT_FALSE(refused) << bad;
    EXPECT_NE(refused.error().message.find("--pue"), std::string::npos);
  }
}

}  // namespace
}  // namespace idleburn
