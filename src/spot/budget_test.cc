#include "spot/budget.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

namespace idleburn {
namespace {

std::string Shown(double value, int digits) { return fmt::format("{:.{}f}", value, digits); }

// planning.md section 9 F: a cap of 12 GPU-hours, epochs of 300,000 samples.
constexpr double kCap = 12;
constexpr double kEpoch = 300'000;

TEST(SpotBudgetTest, TheSpeedThatACapAsksFor) {
  EXPECT_EQ(Shown(LeastSamplesPerMinute(kEpoch, kCap, 0), 3), "416.667");
  EXPECT_EQ(Shown(LeastSamplesPerMinute(kEpoch, kCap, 0.05), 1), "437.5");
  EXPECT_EQ(Shown(LeastSamplesPerMinute(kEpoch, kCap, 0.10), 3), "458.333");
  EXPECT_EQ(Shown(LeastSamplesPerMinute(kEpoch, kCap, 0.20), 0), "500");
}

TEST(SpotBudgetTest, TheEpochsThatACapHolds) {
  const double slow = EpochGpuHours(kEpoch, 1100);
  EXPECT_EQ(Shown(slow, 4), "4.5455");
  EXPECT_EQ(Shown(100 * slow / kCap, 3), "37.879");
  EXPECT_EQ(EpochsText(EpochsWithin(kCap, slow, 0)), "2.64, whole 2");
  EXPECT_EQ(EpochsText(EpochsWithin(kCap, slow, 0.2)), "2.20, whole 2");
  const double fast = EpochGpuHours(kEpoch, 1200);
  EXPECT_EQ(Shown(fast, 4), "4.1667");
  EXPECT_EQ(Shown(100 * fast / kCap, 3), "34.722");
  EXPECT_EQ(EpochsText(EpochsWithin(kCap, fast, 0)), "2.88, whole 2");
  EXPECT_EQ(EpochsText(EpochsWithin(kCap, fast, 0.2)), "2.40, whole 2");
  EXPECT_EQ(Shown(3 * fast, 1), "12.5");
  EXPECT_EQ(Shown(slow / 4, 4), "1.1364");  // hours of four GPUs, the same GPU-hours
  EXPECT_EQ(Shown(fast / 4, 4), "1.0417");
}

TEST(SpotBudgetTest, ExactlyThreeEpochsAreThree) {
  EXPECT_EQ(EpochsWithin(0.3, 0.1, 0).whole, 3);  // 0.3 / 0.1 is 2.9999999999999996
  EXPECT_EQ(EpochsWithin(0.2999, 0.1, 0).whole, 2);
}

TEST(SpotBudgetTest, MoneyStretchesWithThePrice) {
  const Money cap = Money::Cents(24'00);
  EXPECT_EQ(MaxGpuHours(cap, Money::Cents(2'00)), 12);
  EXPECT_EQ(MaxGpuHours(cap, Money::Cents(1'00)), 24);
}

TEST(SpotBudgetTest, ActsAtEightyNinetyFiveAndAHundredPerCent) {
  const Money cap = Money::Cents(100'00);
  EXPECT_EQ(ActionAt(Money::Nano(cap.nano() / 5 * 4 - 1), cap), CapAction::kNone);
  EXPECT_EQ(ActionAt(Money::Cents(80'00), cap), CapAction::kWarn);
  EXPECT_EQ(ActionAt(Money::Cents(94'99), cap), CapAction::kWarn);
  EXPECT_EQ(ActionAt(Money::Cents(95'00), cap), CapAction::kCheckpoint);
  EXPECT_EQ(ActionAt(Money::Cents(100'00), cap), CapAction::kStop);
  EXPECT_EQ(ActionAt(Money::Cents(500'00), cap), CapAction::kStop);
}

TEST(SpotBudgetTest, EveryLaunchCountsAtItsOwnPrice) {
  const std::int64_t hour = 3'600'000'000'000;
  const std::vector<PricedLaunch> launches = {{Money::Cents(2'00), 3 * hour}, {Money::Cents(80), hour / 2}};
  EXPECT_EQ(SpendOf(launches).value(), Money::Cents(6'40));
  EXPECT_EQ(SpendOf({}).value(), Money());
  EXPECT_FALSE(SpendOf(std::vector<PricedLaunch>{{Money::Nano(INT64_MAX), hour}, {Money::Nano(INT64_MAX), hour}}));
}

}  // namespace
}  // namespace idleburn
