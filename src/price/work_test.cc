#include "price/work.h"

#include <gtest/gtest.h>

namespace idleburn {

namespace {

TEST(WorkTest, ReadsPlainDecimals) {
  const WorkDone work = ParseWork("samples=200000, epochs=2.64,tokens=15000000000000").value();
  EXPECT_TRUE(work.units.at("samples") == 200'000 * WorkDone::kOne);
  EXPECT_TRUE(work.units.at("epochs") == 2'640'000'000);
  EXPECT_TRUE(work.units.at("tokens") == 15'000'000'000'000 * WorkDone::kOne);
  EXPECT_TRUE(ParseWork("epochs=.333333333")->units.at("epochs") == 333'333'333);
  EXPECT_TRUE(ParseWork("")->units.empty());
  EXPECT_EQ(Singular("samples"), "sample");
}

TEST(WorkTest, RefusesTheRest) {
  for (const std::string_view text : {"samples", "samples=", "samples=0", "samples=0.0", "samples=.", "samples=.0",
                                      "samples=-1", "tokens=1e9", "samples=nan", "bananas=3", "samples=1,samples=2",
                                      "epochs=1.0000000001", "tokens=99999999999999999999", "=3", ","}) {
    const auto work = ParseWork(text);
    ASSERT_FALSE(work) << text;
    EXPECT_EQ(work.error().kind, Error::Kind::kUsage);
  }
}

constexpr Int128 kOne = 1'000'000'000;

std::string Text(const char* whole, Int128 count_in_billionths, int min_digits = 2) {
  return FormatExact(CostOfOne::Of(Money::Parse(whole).value(), count_in_billionths).value(), min_digits);
}

TEST(CostOfOneTest, KeepsNineDecimalsWhereTheySuffice) {
  EXPECT_EQ(Text("80", 200'000 * kOne), "0.0004");
  EXPECT_EQ(Text("80", 6 * kOne), "13.333333333");
  EXPECT_EQ(Text("80", 2 * kOne), "40.00");
  EXPECT_EQ(Text("80", 2 * kOne, 0), "40");
  EXPECT_EQ(Text("0", 3 * kOne), "0.00");
  EXPECT_EQ(Text("1", 333'333'333), "3.000000003");
}

TEST(CostOfOneTest, APositiveCostIsNeverNothing) {
  EXPECT_EQ(Text("0.270872", 100'000'000 * kOne), "0.00000000270872");
  EXPECT_EQ(Text("0.270872", 1'000'000'000 * kOne), "0.000000000270872");
  EXPECT_EQ(Text("1", 30'000'000'000 * kOne), "0.0000000000333333333");
  EXPECT_EQ(Text("2", 30'000'000'000 * kOne), "0.0000000000666666667");  // half to even, once
  EXPECT_EQ(Text("0.000000001", INT64_MAX * kOne), "0.000000000000000000000000000108420217");
  EXPECT_EQ(Text("0.00000005", 5 * kOne), "0.00000001");  // exactly: nothing is lost
}

TEST(CostOfOneTest, TellsAMillionOfWhatIsTooCheapAlone) {
  const CostOfOne token = CostOfOne::Of(Money::Parse("0.270872").value(), 1'000'000'000 * kOne).value();
  ASSERT_TRUE(token.beyond_money());
  EXPECT_EQ(FormatExact(token.PerMillion()), "0.000270872");
  EXPECT_FALSE(CostOfOne::Of(Money::Parse("80").value(), 200'000 * kOne)->beyond_money());
}

TEST(CostOfOneTest, IsAbsentBeyondWhatMoneyHolds) {
  EXPECT_FALSE(CostOfOne::Of(Money::Parse("9000000000").value(), 1));
}

}  // namespace

}  // namespace idleburn
