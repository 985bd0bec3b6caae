#include "verify/money_split.h"

#include <gtest/gtest.h>

#include "base/time.h"

namespace idleburn {
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
