#include "verify/terms.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <vector>

#include "base/time.h"

namespace idleburn {
namespace {

// Every way to take two of them, one by one.
double ChanceOfTwo(const std::vector<double>& all, double seen) {
  int as_bad = 0;
  int pairs = 0;
  for (std::size_t i = 0; i < all.size(); ++i) {
    for (std::size_t j = 0; j < i; ++j) {
      ++pairs;
      as_bad += (all[i] + all[j]) / 2 >= seen - 1e-12 ? 1 : 0;
    }
  }
  return static_cast<double>(as_bad) / pairs;
}

TEST(BaselineChoice, TheChanceIsThatOfABlindDraw) {
  const std::vector<double> others = {0.3, -0.1, 0.2, 0.05, -0.4, 0.15, 0.0, 0.25};
  for (const std::vector<double>& given :
       {std::vector<double>{0.5, 0.4}, std::vector<double>{0.0, 0.1}, std::vector<double>{-0.5, -0.6}}) {
    std::vector<double> all = others;
    all.insert(all.end(), given.begin(), given.end());
    Random random(3);
    const std::optional<ChoiceReading> reading = ReadChoice(given, others, random);
    ASSERT_TRUE(reading);
    const double chance = ChanceOfTwo(all, (given[0] + given[1]) / 2);
    EXPECT_NEAR(reading->chance, chance, 4 * std::sqrt(0.25 / 2000)) << given[0];
    EXPECT_EQ(reading->looks_picked, chance < 0.05) << given[0];
  }
}

TEST(BaselineChoice, AlikeIsNotPicked) {
  Random random(3);
  const std::vector<double> others(6, 0.1);
  const std::vector<double> given(3, 0.1);
  const std::optional<ChoiceReading> reading = ReadChoice(given, others, random);
  ASSERT_TRUE(reading);
  EXPECT_EQ(reading->chance, 1);
  EXPECT_FALSE(ReadChoice(given, std::vector<double>(5, 0.1), random)) << "too few others to tell";
  EXPECT_FALSE(ReadChoice({}, others, random));
}

// The mean of the worst tenth of many normal draws, and Student's table: 4.302653 for 2 degrees of freedom.
TEST(BaselineChoice, TheWorstTenthIsThatOfNormalDraws) {
  Random random(11);
  std::vector<double> draws(200'000);
  for (double& draw : draws) draw = random.Normal();
  std::sort(draws.begin(), draws.end(), std::greater<>());
  double mean = 0;
  for (std::size_t i = 0; i < draws.size() / 10; ++i) mean += draws[i] / (static_cast<double>(draws.size()) / 10);
  const std::vector<double> narrow = {0.01, 0.0, -0.01};  // deviation 0.01
  const std::vector<double> wide = {0.02, 0.0, -0.02};    // 0.02
  const WorstTenth worst = WorstTenthOf(narrow, wide, 0.95);
  EXPECT_NEAR(worst.mean, 0.02 * mean, 0.02 * 0.02);
  EXPECT_NEAR(worst.most - worst.mean, 0.02 * 4.302653 * std::sqrt(2.0 / 3), 1e-6);
  EXPECT_EQ(WorstTenthOf(wide, narrow, 0.95).most, worst.most);
}

}  // namespace

namespace {

Money Dollars(const char* text) { return *Money::Parse(text); }
Int128 Hours(std::int64_t hours) { return Int128{hours} * kNanosPerHour; }

// By hand: 1,000 GPU-hours at $4.00 would have been, 700 at $2.50 are.
TEST(MoneySplitTest, TimeAndRateAddUpToTheWhole) {
  const Result<TimeAndRate> split =
      SplitTimeAndRate(1000 * kNanosPerHour, 700 * kNanosPerHour, Dollars("4"), Dollars("2.5"));
  ASSERT_TRUE(split);
  EXPECT_EQ(split->time, Dollars("1200"));
  EXPECT_EQ(split->rate, Dollars("1050"));
  EXPECT_EQ(split->total, Dollars("2250"));
}

TEST(MoneySplitTest, PartsAddUpWhereNothingIsWhole) {
  for (std::int64_t used = 1; used < 4'000'000'000'000; used += 333'333'333'331) {
    const Money before = Dollars("3.141592653");
    const Money after = Dollars("2.718281828");
    const Result<TimeAndRate> split = SplitTimeAndRate(3'999'999'999'989, used, before, after);
    ASSERT_TRUE(split);
    EXPECT_EQ(split->time.nano() + split->rate.nano(), split->total.nano());
    // The whole, in one exact step of its own.
    const Int128 exact = Int128{3'999'999'999'989} * before.nano() - Int128{used} * after.nano();
    EXPECT_EQ(Int128{split->total.nano()}, DivHalfEven(exact, kNanosPerHour));
  }
}

TEST(MoneySplitTest, MoreTimeAtALowerRateIsALossAndAGain) {
  const Result<TimeAndRate> split =
      SplitTimeAndRate(10 * kNanosPerHour, 12 * kNanosPerHour, Dollars("4"), Dollars("3"));
  ASSERT_TRUE(split);
  EXPECT_EQ(split->time, Dollars("-8"));
  EXPECT_EQ(split->rate, Dollars("12"));
}

// By hand: 100 GPUs reserved at $2 and 20 on demand at $4, 36 fewer, in one hour.
TEST(MoneySplitTest, TheDearestThatCanBeCancelledGoesFirst) {
  const std::vector<CapacityTier> tiers = {{Hours(100), Dollars("2"), false}, {Hours(20), Dollars("4"), true}};
  const Result<CashAndFreed> split = SplitCashAndFreed(tiers, Hours(36));
  ASSERT_TRUE(split);
  EXPECT_EQ(split->cash, Dollars("80"));
  EXPECT_EQ(split->freed_gpu_nanos, Hours(16));
  EXPECT_EQ(split->bill_before, Dollars("280"));
  EXPECT_EQ(split->bill_after, Dollars("200"));
}

// Trap 22: 64 GPUs for 720 h at $2.10, reserved; 30 % fewer GPU-seconds.
TEST(MoneySplitTest, FreedIsNotCash) {
  const std::vector<CapacityTier> tiers = {{Hours(64 * 720), Dollars("2.10"), false}};
  const Result<CashAndFreed> split = SplitCashAndFreed(tiers, Hours(64 * 720) * 3 / 10);
  ASSERT_TRUE(split);
  EXPECT_EQ(split->cash, Money());
  EXPECT_EQ(split->freed_gpu_nanos, Hours(13824));
  EXPECT_EQ(split->bill_after, Dollars("96768.00"));
}

TEST(MoneySplitTest, AFleetDoesNotOverflow) {
  const std::vector<CapacityTier> tiers = {{Hours(100'000LL * 8760), Dollars("3"), true},
                                           {Hours(50'000LL * 8760), Dollars("9.5"), true}};
  const Result<CashAndFreed> split = SplitCashAndFreed(tiers, Hours(50'001LL * 8760));
  ASSERT_TRUE(split);
  EXPECT_EQ(split->cancelled_gpu_nanos[1], Hours(50'000LL * 8760));
  EXPECT_EQ(split->cancelled_gpu_nanos[0], Hours(8760));
  EXPECT_EQ(split->cash, Dollars("4161026280"));
  EXPECT_FALSE(SplitCashAndFreed(std::vector<CapacityTier>{{Hours(10'000'000LL * 8760), Dollars("9"), true}}, 0));
}

TEST(MoneySplitTest, LongerIsNoSaving) {
  const std::vector<CapacityTier> tiers = {{Hours(10), Dollars("2"), true}};
  const Result<CashAndFreed> split = SplitCashAndFreed(tiers, -Hours(3));
  ASSERT_TRUE(split);
  EXPECT_EQ(split->cash, Money());
  EXPECT_EQ(split->freed_gpu_nanos, 0);
}

}  // namespace

}  // namespace idleburn
