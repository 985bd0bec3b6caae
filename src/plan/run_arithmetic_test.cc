#include "plan/run_arithmetic.h"

#include <gtest/gtest.h>

#include "plan/flops.h"
#include "plan/gpu_rate.h"

// Examples that need no model of the hardware, worked by hand as fractions; their letters are those of
// tests/plan_options_test.cc.
namespace idleburn {
namespace {

TEST(RunArithmeticTest, ALoraFineTune) {
  const double batch = EffectiveBatch(2, 4, 1);
  EXPECT_DOUBLE_EQ(batch, 8);
  const RunLength length = LengthOf(100'000, 3, 1024, batch, 1100, 1);
  EXPECT_DOUBLE_EQ(length.minutes_per_epoch, 1000.0 / 11);
  EXPECT_DOUBLE_EQ(length.hours, 50.0 / 11);
  EXPECT_DOUBLE_EQ(length.gpu_hours, 50.0 / 11);
  EXPECT_DOUBLE_EQ(length.steps_per_epoch, 12'500);
  EXPECT_NEAR(length.samples_per_s, 55.0 / 3, 1e-12);
  EXPECT_NEAR(length.tokens_per_s, 18'773.0 + 1.0 / 3, 1e-9);
}

TEST(RunArithmeticTest, AIsImplausibleOnACardOf24Gb) {
  const double tokens = 18'773.0 + 1.0 / 3;
  const double ceiling = CeilingFlops(*RateOf("RTX-4090"), MatmulFormat::kHalf);
  const RooflineCheck plain = CheckRoofline(tokens, RuleOfThumbFlops(7e9, TuneMethod::kLora, false), ceiling);
  EXPECT_NEAR(plain.implied_flops / 1e12, 525.65, 0.005);
  EXPECT_EQ(plain.verdict, Plausibility::kImpossible);
  const RooflineCheck checkpointed = CheckRoofline(tokens, RuleOfThumbFlops(7e9, TuneMethod::kLora, true), ceiling);
  EXPECT_NEAR(checkpointed.implied_flops / 1e12, 788.48, 0.005);
  const RooflineCheck measured = CheckRoofline(3083, RuleOfThumbFlops(8e9, TuneMethod::kLora, false), ceiling);
  EXPECT_NE(measured.verdict, Plausibility::kImpossible);
}

TEST(RunArithmeticTest, BUtilization) {
  const UtilizationChange change = ChangeOf(0.55, 200, 0.88, 130);
  EXPECT_NEAR(change.speedup, 20.0 / 13, 1e-12);
  EXPECT_NEAR(10 / change.speedup, 6.5, 1e-12);
  EXPECT_NEAR(change.saved, 0.35, 1e-12);
  EXPECT_NEAR(change.busy_before_ms, 110, 1e-9);
  EXPECT_NEAR(change.busy_after_ms, 114.4, 1e-9);
  EXPECT_NEAR(change.implied_ms, 125, 1e-9);
  EXPECT_NEAR(change.implied_speedup, 1.6, 1e-12);
}

TEST(RunArithmeticTest, EUtilizationTarget) {
  const UtilizationTarget target = TargetOf(0.45, 220, 0.8);
  EXPECT_NEAR(target.busy_ms, 99, 1e-9);
  EXPECT_NEAR(target.step_ms, 123.75, 1e-9);
  EXPECT_NEAR(target.speedup, 16.0 / 9, 1e-12);
  EXPECT_NEAR(target.saved, 0.4375, 1e-12);
}

TEST(RunArithmeticTest, FBudgetCap) {
  EXPECT_NEAR(CapOf(12, 300'000, 1100, 1, 0).samples_per_min, 1250.0 / 3, 1e-9);
  EXPECT_NEAR(CapOf(12, 300'000, 1100, 1, 0.05).samples_per_min, 437.5, 1e-9);
  EXPECT_NEAR(CapOf(12, 300'000, 1100, 1, 0.10).samples_per_min, 458 + 1.0 / 3, 1e-9);
  EXPECT_NEAR(CapOf(12, 300'000, 1100, 1, 0.20).samples_per_min, 500, 1e-9);
  const CapFacts slow = CapOf(12, 300'000, 1100, 1, 0);
  EXPECT_NEAR(slow.gpu_hours_per_epoch, 50.0 / 11, 1e-12);
  EXPECT_NEAR(100 * slow.share_per_epoch, 37.879, 0.0005);
  EXPECT_NEAR(slow.epochs, 2.64, 1e-9);
  EXPECT_EQ(slow.whole_epochs, 2);
  EXPECT_NEAR(CapOf(12, 300'000, 1100, 1, 0.2).epochs, 2.2, 1e-9);
  const CapFacts fast = CapOf(12, 300'000, 1200, 1, 0);
  EXPECT_NEAR(fast.gpu_hours_per_epoch, 25.0 / 6, 1e-12);
  EXPECT_NEAR(100 * fast.share_per_epoch, 34.722, 0.0005);
  EXPECT_NEAR(fast.epochs, 2.88, 1e-9);
  EXPECT_NEAR(CapOf(12, 300'000, 1200, 1, 0.2).epochs, 2.4, 1e-9);
  EXPECT_NEAR(LengthOf(300'000, 3, 1024, 8, 1200, 1).gpu_hours, 12.5, 1e-12);
  // Four GPUs, ideally four times as fast: the same GPU-hours.
  const CapFacts four = CapOf(12, 300'000, 4 * 1100, 4, 0);
  EXPECT_NEAR(four.gpu_hours_per_epoch, 50.0 / 11, 1e-12);
  EXPECT_NEAR(LengthOf(300'000, 1, 1024, 8, 4 * 1100, 4).hours, 1.1364, 5e-5);
  EXPECT_NEAR(LengthOf(300'000, 1, 1024, 8, 4 * 1200, 4).hours, 1.0417, 5e-5);
}

TEST(RunArithmeticTest, WholeEpochsAreNotLostToRounding) { EXPECT_EQ(CapOf(3 * 0.1, 6, 1, 1, 0).whole_epochs, 3); }

}  // namespace
}  // namespace idleburn
