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

TEST(FiguresTest, IntervalsHaveOneUnit) {
  EXPECT_EQ(PercentInterval(0.2, 0.35), "20 to 35 %");
  EXPECT_EQ(PercentInterval(0, 0.0593), "0 to 5.93 %");
}

TEST(FiguresTest, GpuHoursAreCounted) {
  EXPECT_EQ(GpuHoursForPeople(1), "1 GPU-hour");
  EXPECT_EQ(GpuHoursForPeople(0.25), "0.25 GPU-hours");
}

}  // namespace
}  // namespace idleburn
