#include "base/money.h"

#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <array>
#include <numeric>

#include "support/property.h"

namespace idleburn {
namespace {

Money M(std::string_view text) { return Money::Parse(text).value(); }

TEST(MoneyTest, ParsesDecimalTextExactly) {
  EXPECT_EQ(M("2.49").nano(), 2'490'000'000);
  EXPECT_EQ(M("-0.000000001").nano(), -1);
  EXPECT_EQ(M("98.3200000000000").nano(), 98'320'000'000);
  EXPECT_FALSE(Money::Parse("0.0000000001"));
  EXPECT_FALSE(Money::Parse(""));
  EXPECT_FALSE(Money::Parse("1e30"));
  EXPECT_FALSE(Money::Parse("9300000000"));
  EXPECT_FALSE(Money::Parse("1,000.00"));
  bool rounded = false;
  EXPECT_EQ(Money::ParseRounding("0.0000000005", &rounded)->nano(), 0);
  EXPECT_TRUE(rounded);
  EXPECT_EQ(Money::ParseRounding("0.0000000015", &rounded)->nano(), 2);
}

TEST(MoneyTest, RoundsHalfToEven) {
  EXPECT_EQ(FormatMoney(M("2.675"), 2), "2.68");
  EXPECT_EQ(FormatMoney(M("2.665"), 2), "2.66");
  EXPECT_EQ(FormatMoney(M("-2.665"), 2), "-2.66");
  EXPECT_EQ(FormatMoney(M("0.005"), 2), "0.00");
  EXPECT_EQ(FormatMoney(M("1234.5"), 0), "1234");
}

TEST(MoneyTest, PricesHoursOfTheReference) {
  constexpr std::int64_t kHour = 3'600'000'000'000;
  EXPECT_EQ(FormatMoney(*Price(M("98.32"), 720 * kHour), 2), "70790.40");
  EXPECT_EQ(FormatMoney(*Price(M("98.32"), 730 * kHour), 2), "71773.60");
  EXPECT_EQ(FormatMoney(*Price(M("4.00"), 720 * kHour), 2), "2880.00");
  EXPECT_EQ(FormatMoney(*Price(M("98.32"), 744 * kHour), 2), "73150.08");
  // 864,000 ticks of 0.1 s at 2.49 an hour, summed first and priced once.
  EXPECT_EQ(FormatExact(*Price(M("2.49"), std::int64_t{864'000} * 100'000'000)), "59.76");
  EXPECT_FALSE(Price(M("9000000000"), 2 * kHour));
}

TEST(MoneyTest, SplitsByLargestRemainder) {
  const std::array<std::int64_t, 3> thirds = {1, 1, 1};
  const auto cents = Split(M("100.00"), thirds, kCent).value();
  EXPECT_EQ(FormatMoney(cents[0], 2), "33.34");
  EXPECT_EQ(FormatMoney(cents[1], 2), "33.33");
  const auto negative = Split(M("-10.00"), thirds, kCent).value();
  EXPECT_EQ(FormatMoney(negative[0], 2), "-3.34");
  EXPECT_EQ(FormatMoney(negative[2], 2), "-3.33");
  const std::array<std::int64_t, 3> seconds = {1000, 1000, 1600};
  const auto hour = Split(M("3.99"), seconds).value();
  EXPECT_EQ(FormatExact(hour[0]), "1.108333334");
  EXPECT_EQ(FormatExact(hour[1]), "1.108333333");
  EXPECT_EQ(FormatExact(hour[2]), "1.773333333");
  EXPECT_FALSE(Split(M("1"), std::array<std::int64_t, 2>{0, 0}));
  EXPECT_FALSE(Split(M("1"), std::array<std::int64_t, 2>{1, -1}));
}

TEST(MoneyTest, RoundsAColumnThatAddsUp) {
  const std::array<Money, 3> mixed = {M("1.005"), M("-0.335"), M("-0.335")};
  const auto column = RoundColumn(mixed, kCent).value();
  EXPECT_EQ(FormatMoney(column[0], 2), "1.01");
  EXPECT_EQ(FormatMoney(column[1], 2), "-0.33");
  EXPECT_EQ(FormatMoney(column[2], 2), "-0.34");
}

TEST(MoneyTest, PartsAlwaysSumToTheWhole) {
  test::ExpectProperty([] {
    const auto total = *rc::gen::inRange<std::int64_t>(-1'000'000'000'000, 1'000'000'000'000);
    auto weights =
        *rc::gen::nonEmpty(rc::gen::container<std::vector<std::int64_t>>(rc::gen::inRange<std::int64_t>(0, 1'000'000)));
    weights.front() += 1;
    const auto parts = Split(Money::Nano(total), weights).value();
    std::int64_t sum = 0;
    for (const Money m : parts) sum += m.nano();
    RC_ASSERT(sum == total);
    for (std::size_t i = 0; i < parts.size(); ++i) {
      const double fair = static_cast<double>(total) * static_cast<double>(weights[i]) /
                          static_cast<double>(std::accumulate(weights.begin(), weights.end(), std::int64_t{0}));
      RC_ASSERT(std::abs(static_cast<double>(parts[i].nano()) - fair) <= 1.001);
    }
  });
}

TEST(MoneyTest, FormatsExactly) {
  EXPECT_EQ(FormatExact(M("13.333333333")), "13.333333333");
  EXPECT_EQ(FormatExact(M("0.0004")), "0.0004");
  EXPECT_EQ(FormatExact(M("80")), "80.00");
  EXPECT_EQ(FormatExact(M("80"), 0), "80");
}

// ISO 4217, list one: the column "minor unit".
TEST(MoneyTest, CurrenciesHaveTheDigitsOfTheirMinorUnit) {
  for (const char* whole : {"BIF", "CLP", "DJF", "GNF", "ISK", "JPY", "KMF", "KRW", "PYG", "RWF", "UGX", "UYI", "VND",
                            "VUV", "XAF", "XOF", "XPF"}) {
    EXPECT_EQ(MinorUnitDigits(whole), 0) << whole;
  }
  for (const char* thousandths : {"BHD", "IQD", "JOD", "KWD", "LYD", "OMR", "TND"}) {
    EXPECT_EQ(MinorUnitDigits(thousandths), 3) << thousandths;
  }
  for (const char* hundredths : {"USD", "EUR", "GBP", "INR", "IDR", "HUF", "TWD", "COP", "XCD", "", "F C"}) {
    EXPECT_EQ(MinorUnitDigits(hundredths), 2) << hundredths;
  }
  EXPECT_EQ(MinorUnitDigits("CLF"), 4);
}

TEST(MoneyTest, ThreeCapitalsAreNotYetACurrency) {
  for (const char* code : {"USD", "EUR", "JPY", "KWD", "CLF", "XAF", "ZWG", "AED", "BGN"}) {
    EXPECT_TRUE(IsCurrencyCode(code)) << code;
  }
  // None of the list, nor what has no price of its own: gold, the code for tests.
  for (const char* code : {"XYZ", "ABC", "UST", "XAU", "XTS", "DEM", "eur", "EU", "EURO", "", "R U", "D A"}) {
    EXPECT_FALSE(IsCurrencyCode(code)) << code;
  }
}

}  // namespace
}  // namespace idleburn
