#include "plan/spot_options.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

namespace idleburn {

// Offers weighed one at a time, with figures that can be worked out by hand, and then several against caps.

namespace {

using std::chrono::minutes;
using std::chrono::seconds;

constexpr WorkHours Known(double hours) { return {Hours(hours), Hours(hours), Hours(hours)}; }

RunOffer OnDemand(Money per_gpu_hour, const WorkHours& work, int gpus = 1) {
  RunOffer offer;
  offer.gpu = "H100-SXM";
  offer.gpus = gpus;
  offer.per_gpu_hour = per_gpu_hour;
  offer.work = work;
  return offer;
}

RunOffer Spot(Money per_gpu_hour, Money on_demand, const WorkHours& work, Hours mean_uptime) {
  RunOffer offer = OnDemand(per_gpu_hour, work);
  offer.spot = true;
  offer.on_demand_per_gpu_hour = on_demand;
  offer.machines = UpAndDown{mean_uptime, {}, {}};
  return offer;
}

std::vector<RunOption> Weighed(const std::vector<RunOffer>& offers, const LaunchFacts& launch = {},
                               const OptionCaps& caps = {}) {
  return WeighOffers(offers, launch, caps).value();
}

const Money kTwo = Money::Cents(2'00);
const Money kFour = Money::Cents(4'00);

TEST(SpotOptionsTest, OnDemandIsPriceTimesHours) {
  const RunOption option = Weighed({OnDemand(Money::Parse("2.29").value(), {Hours(9), Hours(10), Hours(12.5)}, 8)})[0];
  EXPECT_EQ(option.gpu_hours->likely, Hours(80));
  EXPECT_EQ(FormatExact(option.cost->low), "164.88");
  EXPECT_EQ(FormatExact(option.cost->likely), "183.20");
  EXPECT_EQ(FormatExact(option.cost->high), "229.00");
  EXPECT_EQ(option.wall_p50, Hours(10));
  EXPECT_EQ(option.wall_p95, Hours(12.5));
  EXPECT_EQ(*option.interruptions, 0);
  EXPECT_TRUE(option.pareto);
}

TEST(SpotOptionsTest, OnDemandPaysForItsOwnCheckpoints) {
  LaunchFacts launch;
  launch.checkpoint = minutes(6);
  launch.on_demand_interval = Hours(1);
  EXPECT_EQ(FormatExact(Weighed({OnDemand(kTwo, Known(10))}, launch)[0].cost->likely), "22.00");
}

TEST(SpotOptionsTest, SpotIsFirstOrderWhereThatHolds) {
  LaunchFacts launch;
  launch.checkpoint = seconds(30);
  launch.restart = minutes(3);
  const RunOption option = Weighed({Spot(kTwo, kFour, Known(50.0 / 9), Hours(8))}, launch)[0];
  EXPECT_EQ(option.basis, BilledBasis::kFirstOrder);
  EXPECT_EQ(fmt::format("{:.1f}", *option.interval / seconds(1)), "1314.5");
  // By hand: T0 = 5.555556 (1 + 30/1314.534) + 0.05 = 5.732342; T = T0 (1 + (0.05 + 0.182574) / 8) = 5.898993.
  EXPECT_NEAR(option.billed_hours->likely.count(), 5.898993, 1e-6);
  EXPECT_EQ(FormatMoney(option.cost->likely, 4), "11.7980");
  EXPECT_NEAR(*option.interruptions, 5.898993 / 8, 1e-6);
  EXPECT_NEAR(*option.overhead, 5.898993 / (50.0 / 9) - 1, 1e-6);
  EXPECT_EQ(*option.break_even, 1);
  EXPECT_NEAR(*option.saving, 1 - 0.5 * 5.898993 / (50.0 / 9), 1e-6);
  EXPECT_LE(option.billed_hours->low, option.billed_hours->likely);
  EXPECT_LE(option.billed_hours->likely, option.billed_hours->high);
  EXPECT_LT(*option.wall_p50, *option.wall_p95);
}

TEST(SpotOptionsTest, UnbilledProvisioningIsNotPaid) {
  LaunchFacts launch;
  launch.restart = Hours(0.5);
  RunOffer offer = Spot(kTwo, kFour, Known(10), Hours(100));
  launch.interval = Hours(1);
  const double whole = Weighed({offer}, launch)[0].billed_hours->likely.count();
  launch.unbilled = Hours(0.5);
  const double billed = Weighed({offer}, launch)[0].billed_hours->likely.count();
  EXPECT_NEAR(whole - billed, 0.5 * (1 + whole / 100), 1e-9);
}

TEST(SpotOptionsTest, SimulationWhereFirstOrderIsOutOfItsDepth) {
  LaunchFacts launch;
  launch.checkpoint = minutes(5);
  launch.restart = minutes(10);
  const RunOption option = Weighed({Spot(kTwo, kFour, Known(6), Hours(1))}, launch)[0];
  EXPECT_EQ(option.basis, BilledBasis::kSimulation);
  const CheckpointedWork job{Hours(6), *option.interval, launch.checkpoint, launch.restart};
  const SpotOutlook outlook = SimulateSpot(Known(6), job, {}, {Hours(1), {}, {}}, {});
  EXPECT_EQ(option.billed_hours->likely, *outlook.billed_mean);
  EXPECT_EQ(option.interruptions, outlook.interruptions_mean);
}

TEST(SpotOptionsTest, AMeasuredLossReplacesTheFormula) {
  LaunchFacts launch;
  launch.loss = minutes(5);
  launch.interval = Hours(1);
  const RunOption option = Weighed({Spot(kTwo, kFour, Known(12), Hours(8))}, launch)[0];
  EXPECT_EQ(option.basis, BilledBasis::kMeasuredLoss);
  EXPECT_EQ(fmt::format("{:.4f}", option.billed_hours->likely.count()), "12.1263");  // 12 / (1 - 5 / 480)
}

// On the wall an interruption costs what was measured too, not what an interval that nobody gave would.
TEST(SpotOptionsTest, AMeasuredLossIsOnTheWallToo) {
  LaunchFacts launch;
  launch.loss = minutes(30);
  const RunOption option = Weighed({Spot(kTwo, kFour, Known(12), Hours(8))}, launch)[0];
  EXPECT_FALSE(option.interval);
  // 1.6 interruptions of half an hour: no more than 4 in 95 of 100 runs, each at most an hour.
  EXPECT_GT(*option.wall_p50, Hours(12.3));
  EXPECT_LT(*option.wall_p50, Hours(13.2));
  EXPECT_GT(*option.wall_p95, Hours(13.2));
  EXPECT_LT(*option.wall_p95, Hours(16));
  EXPECT_LT(option.billed_hours->low, option.billed_hours->likely);
  EXPECT_LT(option.billed_hours->likely, option.billed_hours->high);
  // Whatever is known of an interval, the loss was measured.
  launch.checkpoint = seconds(30);
  const RunOption with_young = Weighed({Spot(kTwo, kFour, Known(12), Hours(8))}, launch)[0];
  EXPECT_TRUE(with_young.interval);
  EXPECT_GT(*with_young.wall_p95, *option.wall_p95);
}

TEST(SpotOptionsTest, NobodyKnowsHowOftenItIsLost) {
  RunOffer unknown = Spot(kTwo, kFour, Known(50.0 / 9), Hours(8));
  unknown.machines.reset();
  OptionCaps caps;
  caps.deadline = Hours(100);
  caps.budget = Money::Cents(100'00);
  const RunOption option = Weighed({unknown}, {}, caps)[0];
  EXPECT_EQ(option.basis, BilledBasis::kNeverInterrupted);
  EXPECT_EQ(FormatMoney(option.cost->likely, 4), "11.1111");
  EXPECT_FALSE(option.wall_p95 || option.interruptions || option.pareto);
  EXPECT_EQ(option.deadline, CapFit::kUnknown);
  EXPECT_EQ(option.budget, CapFit::kUnknown);
  caps.budget = Money::Cents(11'00);  // even uninterrupted it is dearer
  EXPECT_EQ(Weighed({unknown}, {}, caps)[0].budget, CapFit::kMisses);
  const OptionChoice choice = ChooseOption(std::vector<RunOption>{option}, caps);
  EXPECT_FALSE(choice.best || choice.nearest);
  // Of 1 on demand: what the overheads would cost.
  std::string shown;
  for (const double o : kShownOverheads) {
    shown += FormatMoney(CostOf(Money::Cents(50), 50.0 / 9 * (1 + o)).value(), 4) + " ";
  }
  EXPECT_EQ(shown, "2.7778 2.9167 3.0556 3.3333 ");
}

TEST(SpotOptionsTest, SpotAtTheOnDemandPriceSavesNothing) {
  const RunOption option = Weighed({Spot(kFour, kFour, Known(5), Hours(8))})[0];
  EXPECT_FALSE(option.break_even || option.saving);
}

TEST(SpotOptionsTest, TheParetoFrontIsWhatNothingBeats) {
  const std::vector<RunOption> options = Weighed({
      OnDemand(kTwo, Known(10)),                // $20, 10 h
      OnDemand(kFour, Known(6)),                // $24, 6 h
      OnDemand(kFour, Known(10)),               // $40: dearer than both and no sooner
      OnDemand(kTwo, Known(10)),                // as the first: neither beats the other
      OnDemand(Money::Cents(2'01), Known(10)),  // as soon, but dearer
  });
  std::string marks;
  for (const RunOption& option : options) marks += option.pareto ? '*' : '.';
  EXPECT_EQ(marks, "**.*.");
}

TEST(SpotOptionsTest, TheCheapestThatKeepsItsCaps) {
  const std::vector<RunOffer> offers = {OnDemand(kTwo, {Hours(9), Hours(10), Hours(12)}),  // $20 to 24, 10 to 12 h
                                        OnDemand(kFour, {Hours(5), Hours(6), Hours(7)})};  // $24 to 28, 6 to 7 h
  const auto choose = [&](std::optional<Hours> deadline, std::optional<Money> budget) {
    const OptionCaps caps{deadline, budget};
    return ChooseOption(Weighed(offers, {}, caps), caps);
  };
  EXPECT_EQ(choose({}, {}).best, 0U);
  EXPECT_EQ(choose(Hours(8), {}).best, 1U);
  EXPECT_EQ(choose(Hours(12), Money::Cents(24'00)).best, 0U);  // just
  // 11 hours are likely enough for the first, but sure for the second only.
  EXPECT_EQ(choose(Hours(11), {}).best, 1U);
  const OptionChoice tight = choose(Hours(11), Money::Cents(25'00));
  EXPECT_EQ(tight.best, 0U);
  EXPECT_TRUE(tight.tight);
  // Neither: the first is 12/8 late, the second 28/20 too dear.
  const OptionChoice none = choose(Hours(8), Money::Cents(20'00));
  EXPECT_FALSE(none.best);
  EXPECT_EQ(none.nearest, 1U);
  EXPECT_DOUBLE_EQ(none.overshoot, 0.4);
}

TEST(SpotOptionsTest, ARunThatGetsNowhereHasNoCost) {
  LaunchFacts launch;
  launch.restart = Hours(3);
  launch.interval = Hours(3);
  const std::vector<RunOption> options = Weighed({Spot(kTwo, kFour, Known(100), Hours(0.2))}, launch);
  EXPECT_FALSE(options[0].cost || options[0].wall_p95 || options[0].saving);
  EXPECT_FALSE(options[0].pareto);
}

TEST(SpotOptionsTest, SaysWhatIsWrong) {
  const auto error = [](const RunOffer& offer, const LaunchFacts& launch, const OptionCaps& caps) {
    const auto weighed = WeighOffers(std::vector<RunOffer>{offer}, launch, caps);
    return weighed ? "" : weighed.error().message;
  };
  RunOffer offer = OnDemand(kTwo, Known(1));
  EXPECT_EQ(error(offer, {}, {}), "");
  offer.work.low = Hours(2);
  EXPECT_EQ(error(offer, {}, {}), "1 x H100-SXM: its hours of work must be above 0, in the order low, likely, high");
  offer = Spot(kTwo, kFour, Known(1), Hours(0));
  EXPECT_EQ(error(offer, {}, {}), "1 x H100-SXM spot: the mean uptime of its machines must be above 0");
  offer = OnDemand(Money(), Known(1));
  EXPECT_EQ(error(offer, {}, {}), "1 x H100-SXM: its price per GPU-hour must be above 0");
  offer = OnDemand(kTwo, Known(1), 0);
  EXPECT_EQ(error(offer, {}, {}), "0 x H100-SXM: the numbers of GPUs and of machines must be above 0");
  offer = OnDemand(kTwo, Known(1));
  LaunchFacts launch;
  launch.unbilled = Hours(1);
  EXPECT_EQ(error(offer, launch, {}), "the unbilled part of a restart must lie between 0 and the restart");
  EXPECT_EQ(error(offer, {}, {Hours(0), {}}), "a deadline must be above 0");
  EXPECT_EQ(error(offer, {}, {{}, Money()}), "a budget must be above 0");
  offer = OnDemand(Money::Nano(INT64_MAX), Known(2));
  EXPECT_EQ(error(offer, {}, {}), "H100-SXM: its cost is too large to compute");
}

TEST(SpotOptionsTest, ABudgetStretchesWithThePrice) {
  const Money cap = Money::Cents(24'00);
  EXPECT_EQ(MaxGpuHours(cap, Money::Cents(2'00)), 12);
  EXPECT_EQ(MaxGpuHours(cap, Money::Cents(1'00)), 24);
}

}  // namespace
}  // namespace idleburn
