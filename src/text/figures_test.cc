#include "text/figures.h"

#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <cmath>
#include <string>

namespace idleburn {
namespace {

TEST(FiguresTest, NumbersHaveThreeSignificantDigits) {
  EXPECT_EQ(ThreeDigits(0), "0");
  EXPECT_EQ(ThreeDigits(1), "1");
  EXPECT_EQ(ThreeDigits(0.316666), "0.317");
  EXPECT_EQ(ThreeDigits(12.3456), "12.3");
  EXPECT_EQ(ThreeDigits(9.996), "10");
  EXPECT_EQ(ThreeDigits(99.96), "100");
  EXPECT_EQ(ThreeDigits(1234.5), "1,234");
  EXPECT_EQ(ThreeDigits(1234567), "1,234,567");
  EXPECT_EQ(ThreeDigits(-1234567), "-1,234,567");
  EXPECT_EQ(ThreeDigits(-0.0000000000001), "0");
  EXPECT_EQ(ThreeDigits(0.000123456), "0.000123");
}

TEST(FiguresTest, NumbersAreOffByHalfAUnitOfTheThirdDigitAtMost) {
  EXPECT_TRUE(rc::check([] {
    const double value = *rc::gen::map(rc::gen::inRange(-9000, 9000), [](int e) { return std::exp(e / 1000.0); });
    std::string text = ThreeDigits(value);
    std::erase(text, ',');
    RC_ASSERT(std::fabs(std::stod(text) - value) <= 0.00501 * value);
  }));
}

TEST(FiguresTest, SpansHaveTheirTwoLargestUnits) {
  const auto text = [](double seconds) { return DurationForPeople(Nanos(std::llround(seconds * 1e9))); };
  EXPECT_EQ(text(0), "0 ms");
  EXPECT_EQ(text(0.0124), "12.4 ms");
  EXPECT_EQ(text(5.25), "5.25 s");
  EXPECT_EQ(text(59.96), "1 min");
  EXPECT_EQ(text(60), "1 min");
  EXPECT_EQ(text(900), "15 min");
  EXPECT_EQ(text(902), "15 min 2 s");
  EXPECT_EQ(text(9960), "2 h 46 min");
  EXPECT_EQ(text(3599.9), "1 h");
  EXPECT_EQ(text(86'399), "1 d");
  EXPECT_EQ(text(277'200), "3 d 5 h");
  EXPECT_EQ(text(-900), "-15 min");
}

TEST(FiguresTest, SpansBeyondNanosecondsAreInDays) {
  EXPECT_EQ(SecondsForPeople(9960), "2 h 46 min");
  EXPECT_EQ(SecondsForPeople(8.64e11), "10,000,000 d");
}

TEST(FiguresTest, ChangesHaveTheirSign) {
  EXPECT_EQ(SignedDigits(12.345), "+12.3");
  EXPECT_EQ(SignedDigits(-0.00456), "-0.00456");
  EXPECT_EQ(SignedDigits(0), "0");
  EXPECT_EQ(SignedPercent(0.0345), "+3.5 %");
  EXPECT_EQ(SignedPercent(-0.0345), "-3.5 %");
  EXPECT_EQ(SignedPercent(-0.0001), "0.0 %");
}

TEST(FiguresTest, BytesHaveTheUnitOfTheirSize) {
  EXPECT_EQ(BinaryBytes(0), "0 bytes");
  EXPECT_EQ(BinaryBytes(1536), "1.5 KiB");
  EXPECT_EQ(BinaryBytes(1023.9 * 1024), "1 MiB");
  EXPECT_EQ(BinaryBytes(68'400'000'000.0), "63.7 GiB");
  EXPECT_EQ(DecimalBytes(12'345'678), "12.3 MB");
  EXPECT_EQ(DecimalBytes(999'900), "1 MB");
}

TEST(FiguresTest, SharesHaveOneDecimalUpToTheWhole) {
  EXPECT_EQ(PercentText(0.348), "34.8 %");
  EXPECT_EQ(PercentText(1), "100.0 %");
  EXPECT_EQ(StatedPercent(0.95), "95 %");
  EXPECT_EQ(PercentText(2.5), "250 %");
  EXPECT_EQ(PercentText(-0.0314), "-3.1 %");
  EXPECT_EQ(PercentText(-0.0004), "0.0 %");
  EXPECT_EQ(PercentText(-0.0), "0.0 %");
}

TEST(FiguresTest, IntervalsHaveOneUnitAndEqualDecimals) {
  EXPECT_EQ(PercentInterval(0.2, 0.35), "20 to 35 %");
  EXPECT_EQ(PercentInterval(0, 0.0593), "0 to 5.9 %");
  EXPECT_EQ(PercentInterval(0.26, 0.3041), "26.0 to 30.4 %");
  EXPECT_EQ(PercentInterval(-0.0001, 1), "0 to 100 %");
  EXPECT_EQ(AmountInterval(Money::Cents(295), Money::Cents(1229), "USD"), "$2.95 to $12.29");
}

TEST(FiguresTest, MoneyHasItsMinorUnit) {
  EXPECT_EQ(Amount(Money::Nano(13'622'436'974), "USD"), "$13.62");
  EXPECT_EQ(Amount(Money::Cents(-7'079'040), "USD"), "-$70,790.40");
  EXPECT_EQ(Amount(Money::Cents(160'000), "JPY"), "1,600 JPY");
}

TEST(FiguresTest, PricesOfOneUnitKeepThreeDigits) {
  EXPECT_EQ(UnitPrice(13.622436974, "USD"), "$13.62");
  EXPECT_EQ(UnitPrice(3, "USD"), "$3.00");
  EXPECT_EQ(UnitPrice(1413.3333, "USD"), "$1,413.33");
  EXPECT_EQ(UnitPrice(0.0004, "USD"), "$0.0004");
  EXPECT_EQ(UnitPrice(0.002642083, "EUR"), "0.00264 EUR");
  EXPECT_EQ(UnitPrice(Money::Nano(2'400'000'000), "JPY"), "2.4 JPY");
  EXPECT_EQ(UnitPrice(250, "JPY"), "250 JPY");
}

TEST(FiguresTest, ColumnsOfHoursFollowTheirTotal) {
  EXPECT_EQ(HourDecimals(kNanosPerHour), 2);
  EXPECT_EQ(HourDecimals(kNanosPerHour / 4), 3);
  EXPECT_EQ(HourDecimals(12'345 * kNanosPerHour), 1);
  EXPECT_EQ(HourDecimals(0), 1);
  EXPECT_EQ(HoursOfColumn(kNanosPerHour * 5 / 4, 2), "1.25");
  EXPECT_EQ(HoursOfColumn(12'345 * kNanosPerHour, 1), "12,345.0");
  EXPECT_EQ(HoursOfColumn(0, 6), "0.00");
  EXPECT_EQ(HourUnit(2), kNanosPerHour / 100);
}

TEST(FiguresTest, GpuHoursAreCounted) {
  EXPECT_EQ(GpuHoursForPeople(1), "1 GPU-hour");
  EXPECT_EQ(GpuHoursForPeople(0.25), "0.25 GPU-hours");
}

}  // namespace
}  // namespace idleburn
