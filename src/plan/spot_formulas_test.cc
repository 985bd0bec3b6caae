#include "plan/spot_formulas.h"

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <chrono>
#include <cmath>

#include "support/property.h"

namespace idleburn {

// Formulas by hand, against each other, and against random tries. An interval that is said to be best is held against
// others.

namespace {

using std::chrono::minutes;
using std::chrono::seconds;

std::string Shown(double value, int digits) { return fmt::format("{:.{}f}", value, digits); }
std::string Percent(double share, int digits) { return Shown(100 * share, digits) + " %"; }

// Example C: 12 hours of work, a loss every 8 hours, 5 minutes each, 60 % off.
TEST(SpotFormulasTest, InterruptionsCostLittle) {
  const Hours work(12);
  const Hours mean_uptime(8);
  const double expected = ExpectedInterruptions(work, mean_uptime);
  EXPECT_EQ(expected, 1.5);
  const Hours time = FixedLossTime(work, mean_uptime, minutes(5));
  EXPECT_DOUBLE_EQ((time - work) / minutes(1), 7.5);
  EXPECT_EQ(Percent(time / work - 1, 4), "1.0417 %");
  EXPECT_DOUBLE_EQ(time.count() * (1 - 0.6), 4.85);  // of P, against 12 P
  EXPECT_EQ(Percent(1 - SpotCostFactor(0.6, time / work - 1), 3), "59.583 %");
  EXPECT_EQ(Percent(1 - SpotCostFactor(0.6, minutes(10) / work), 3), "59.444 %");
  EXPECT_EQ(Shown(SelfConsistentTime(work, mean_uptime, minutes(5))->count(), 4), "12.1263");
  EXPECT_EQ(Percent(PoissonExactly(0, expected), 3), "22.313 %");
  EXPECT_EQ(Percent(PoissonAtMost(2, expected), 3), "80.885 %");
}

// Example D: 333.333 minutes, checkpoints every 5, restarts of 3, at half the price.
TEST(SpotFormulasTest, SpotOrOnDemand) {
  const Hours work = minutes(2 * 200'000) / 1200.0;
  EXPECT_EQ(Shown(work.count(), 4), "5.5556");
  const auto shown = [&](double overhead) { return Shown(work.count() * SpotCostFactor(0.5, overhead), 4); };
  EXPECT_EQ(shown(0), "2.7778");
  EXPECT_EQ(shown(0.05), "2.9167");
  EXPECT_EQ(shown(0.10), "3.0556");
  EXPECT_EQ(shown(0.20), "3.3333");
  const Hours mean_uptime(8);
  EXPECT_EQ(Shown(ExpectedInterruptions(work, mean_uptime), 5), "0.69444");
  const Hours likely = FixedLossTime(work, mean_uptime, minutes(3) + minutes(5) / 2.0);
  EXPECT_EQ(Shown(likely.count(), 4), "5.6192");
  EXPECT_EQ(shown(likely / work - 1), "2.8096");
  EXPECT_EQ(Percent(SpotCostFactor(0.5, likely / work - 1) - 1, 3), "-49.427 %");
  const Hours worst = FixedLossTime(work, mean_uptime, minutes(3 + 5));
  EXPECT_EQ(Shown(worst.count(), 4), "5.6481");
  EXPECT_EQ(shown(worst / work - 1), "2.8241");
  EXPECT_EQ(Percent(SpotCostFactor(0.5, worst / work - 1) - 1, 3), "-49.167 %");
  EXPECT_EQ(BreakEvenOverhead(0.5), 1);
  EXPECT_EQ(Shown(work * BreakEvenOverhead(0.5) / minutes(3 + 5), 2), "41.67");
  EXPECT_EQ(Shown(work / minutes(5), 2), "66.67");
  EXPECT_NEAR(UninterruptedTime({work, minutes(5), seconds(7), {}}) / work - 1, 7.0 / 300, 1e-12);
  const Hours young = YoungInterval(seconds(30), mean_uptime);
  EXPECT_EQ(Shown(young / seconds(1), 1), "1314.5");
  EXPECT_EQ(Shown(young / minutes(1), 1), "21.9");
}

// Break-even d / (1 - d), cost (1 - d)(1 + o).
TEST(SpotFormulasTest, DiscountsAndOverheads) {
  EXPECT_EQ(Shown(BreakEvenOverhead(0.5), 6), "1.000000");
  EXPECT_EQ(Shown(BreakEvenOverhead(0.65), 6), "1.857143");
  EXPECT_EQ(Percent(BreakEvenOverhead(0.6), 0), "150 %");
  EXPECT_EQ(Percent(BreakEvenOverhead(0.65), 0), "186 %");
  EXPECT_DOUBLE_EQ(SpotCostFactor(0.5, 0.1), 0.55);
  EXPECT_DOUBLE_EQ(SpotCostFactor(0.6, 0.1), 0.44);
  for (const double d : {0.1, 0.5, 0.609, 0.895}) EXPECT_NEAR(SpotCostFactor(d, BreakEvenOverhead(d)), 1, 1e-12);
}

// Example A: half the price and a tenth more time save 45 % exactly.
TEST(SpotFormulasTest, ATenthMoreTimeAtHalfThePrice) {
  const Hours work(50.0 / 11);
  EXPECT_EQ(Shown(work.count(), 4), "4.5455");
  EXPECT_DOUBLE_EQ(work.count() * 1.1, 5);
  EXPECT_DOUBLE_EQ(work.count() * SpotCostFactor(0.5, 0.1), 2.5);
}

// By hand: W 10 h, tau 0.5 h, C 0.05 h, R 0.1 h, M 5 h. T0 = 10 x 1.1 + 0.1 = 11.1; T = 11.1 + 2.22 x 0.35 = 11.877.
TEST(SpotFormulasTest, FirstOrderByHand) {
  const CheckpointedWork job{Hours(10), Hours(0.5), Hours(0.05), Hours(0.1)};
  EXPECT_DOUBLE_EQ(UninterruptedTime(job).count(), 11.1);
  EXPECT_DOUBLE_EQ(FirstOrderTime(job, Hours(5)).count(), 11.877);
  EXPECT_FALSE(NeedsSimulation(job, Hours(5)));
  EXPECT_FALSE(NeedsSimulation(job, Hours(3.001)));
  EXPECT_TRUE(NeedsSimulation(job, Hours(2.999)));
  // What an on-demand run writes too is no overhead of spot: every hour, 1.05 in all.
  EXPECT_DOUBLE_EQ(SpotOverhead(Hours(11.877), job.work, job.checkpoint, std::nullopt), 0.1877);
  EXPECT_DOUBLE_EQ(SpotOverhead(Hours(11.877), job.work, job.checkpoint, Hours(1)), 1.1877 / 1.05 - 1);
}

// The other way round: how often a span is tried until it comes through, and what each failed try loses.
TEST(SpotFormulasTest, DalyAgreesWithTriesUntilOneComesThrough) {
  const CheckpointedWork job{Hours(10), Hours(0.5), Hours(0.05), Hours(0.1)};
  const double m = 5;
  const auto failures = [&](double span) { return 1 / std::exp(-span / m) - 1; };
  const auto lost = [&](double span) {  // the mean of an exponential time, given that it is below `span`
    const double through = std::exp(-span / m);
    return (m - through * (span + m)) / (1 - through);
  };
  const double restart = 0.1 + failures(0.1) * lost(0.1);
  const double segment = 0.55 + failures(0.55) * (lost(0.55) + restart);
  EXPECT_NEAR(DalyTime(job, Hours(m)).count(), segment * 20, 1e-9);
  // Losses that hardly come leave the work and its checkpoints.
  EXPECT_NEAR(DalyTime(job, Hours(1e9)).count(), 11, 1e-6);
}

TEST(SpotFormulasTest, IntervalsByHand) {
  EXPECT_DOUBLE_EQ(YoungInterval(Hours(0.02), Hours(4)).count(), 0.4);
  // C + sqrt(2 (M + R) C + C^2) = 0.1 + sqrt(2 x 5 x 0.1 + 0.01).
  EXPECT_DOUBLE_EQ(AvailabilityOptimalInterval(Hours(0.1), Hours(1), Hours(4)).count(), 0.1 + std::sqrt(1.01));
  EXPECT_EQ(JobMeanUptime(Hours(8), 16), Hours(0.5));
  EXPECT_DOUBLE_EQ(MeanDownTime(Hours(4), 0.8).count(), 1);
  EXPECT_EQ(MeanDownTime(Hours(4), 1), Hours(0));
}

TEST(SpotFormulasTest, ALossLongerThanTheUptimeNeverEnds) {
  EXPECT_FALSE(SelfConsistentTime(Hours(1), Hours(2), Hours(2)));
  EXPECT_FALSE(SelfConsistentTime(Hours(1), Hours(2), Hours(3)));
  EXPECT_DOUBLE_EQ(SelfConsistentTime(Hours(1), Hours(2), Hours(1))->count(), 2);
}

TEST(SpotFormulasTest, PoissonSumsToOneAndHasItsMean) {
  test::ExpectProperty("sum 1, mean x", [] {
    const double mean = *rc::gen::inRange(0, 2000) / 100.0;
    double sum = 0;
    double first = 0;
    for (int k = 0; k < 120; ++k) {
      sum += PoissonExactly(k, mean);
      first += k * PoissonExactly(k, mean);
    }
    RC_ASSERT(std::abs(sum - 1) < 1e-9);
    RC_ASSERT(std::abs(first - mean) < 1e-7);
    RC_ASSERT(std::abs(PoissonAtMost(119, mean) - sum) < 1e-12);
  });
}

// No interval does better than the optimum of the first-order overhead C/tau + tau/2M.
TEST(SpotFormulasTest, YoungIsTheBestOfItsApproximation) {
  test::ExpectProperty("Young is optimal", [] {
    const Hours c = seconds(*rc::gen::inRange(1, 1000));
    const Hours m(*rc::gen::inRange(1, 500) / 10.0);
    const Hours young = YoungInterval(c, m);
    const auto overhead = [&](Hours tau) { return c / tau + tau / m / 2; };
    const double factor = *rc::gen::inRange(1, 400) / 100.0;
    RC_ASSERT(overhead(young) <= overhead(young * factor) + 1e-12);
  });
}

// Held against a search for the interval at which Daly's time is least.
TEST(FormulasTest, DalysIntervalIsNearlyTheBestByHisTime) {
  for (const double checkpoint : {0.01, 0.1, 0.5}) {
    const Hours mean(8);
    const auto time = [&](double interval) {
      return DalyTime({Hours(100), Hours(interval), Hours(checkpoint), Hours(0.1)}, mean).count();
    };
    double best = 0.01;
    for (double interval = 0.01; interval < 20; interval += 0.001) {
      if (time(interval) < time(best)) best = interval;
    }
    EXPECT_NEAR(DalyInterval(Hours(checkpoint), mean).count() / best, 1, 0.01) << checkpoint;
    EXPECT_LE(time(DalyInterval(Hours(checkpoint), mean).count()),
              time(YoungInterval(Hours(checkpoint), mean).count()));
  }
  EXPECT_EQ(DalyInterval(Hours(5), Hours(2)), Hours(2));
}

}  // namespace
}  // namespace idleburn
