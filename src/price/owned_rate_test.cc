#include "price/owned_rate.h"

#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <cmath>

#include "support/property.h"

namespace idleburn {
namespace {

constexpr std::string_view kExample =
    "capex=250000,residual=25000,life=4,gpus=8,kw=10.2,pue=1.3,tariff=0.11,hosting=2,utilisation=0.6";

std::string Message(std::string_view text) {
  const auto owned = ParseOwned(text);
  if (owned) return "";
  EXPECT_EQ(owned.error().kind, Error::Kind::kUsage);
  return owned.error().message;
}

TEST(OwnedRateTest, MatchesTheReferenceExample) {
  const OwnedRate owned = ParseOwned(kExample).value();
  EXPECT_EQ(FormatExact(owned.per_available), "1.23497911");
  EXPECT_EQ(FormatExact(owned.per_used.value()), "2.058298516");
  EXPECT_EQ(owned.not_given, std::vector<std::string_view>{"staff"});
}

TEST(OwnedRateTest, UtilizationHasTwoSpellings) {
  EXPECT_EQ(ParseOwned("capex=8760,life=1,gpus=1,utilization=0.5").value().per_used, Money::Cents(200));
  EXPECT_NE(Message("capex=1,life=1,gpus=1,utilization=0.5,utilisation=0.5").find("given twice"), std::string::npos);
}

TEST(OwnedRateTest, NamesWhatWasNotGiven) {
  // 87600 / 8760 h = 10 an hour, on four GPUs.
  const OwnedRate bare = ParseOwned("capex=87600, life=1, gpus=4").value();
  EXPECT_EQ(FormatExact(bare.per_available), "2.50");
  EXPECT_FALSE(bare.per_used);
  EXPECT_EQ(bare.not_given, (std::vector<std::string_view>{"residual", "kw", "pue", "tariff", "hosting", "staff"}));
  // Without a PUE the machines' own power counts: 2 kW x 0.5 = 1 an hour.
  const OwnedRate powered = ParseOwned("capex=0,life=1,gpus=1,kw=2,tariff=0.5,staff=0.25").value();
  EXPECT_EQ(FormatExact(powered.per_available), "1.25");
}

TEST(OwnedRateTest, RefusesWhatCannotBe) {
  EXPECT_EQ(Message("capex=1,life=1"), "--owned: gpus is missing; write it like capex=250000,life=4,gpus=8");
  EXPECT_NE(Message("capex=250k,life=4,gpus=8").find("without k, a unit or a currency sign"), std::string::npos);
  EXPECT_NE(Message("capex=1,life=0,gpus=1"), "");
  EXPECT_NE(Message("capex=1,life=1,gpus=0"), "");
  EXPECT_NE(Message("capex=1,life=1,gpus=1.5"), "");
  EXPECT_NE(Message("capex=-1,life=1,gpus=1"), "");
  EXPECT_NE(Message("capex=1e30,life=1,gpus=1"), "");
  EXPECT_NE(Message("capex=1,capex=2,life=1,gpus=1"), "");
  EXPECT_NE(Message("capex=1,residual=2,life=1,gpus=1"), "");
  EXPECT_NE(Message("capex=1,life=1,gpus=1,pue=0.9"), "");
  EXPECT_NE(Message("capex=1,life=1,gpus=1,utilisation=0"), "");
  EXPECT_NE(Message("capex=1,life=1,gpus=1,utilisation=1.1"), "");
  EXPECT_NE(Message("capex=1,life=1,gpus=1,colour=red"), "");
  EXPECT_NE(Message("capex"), "");
  EXPECT_NE(Message(""), "");
  EXPECT_NE(Message("capex=9000000000,life=0.000000001,gpus=1"), "");
}

TEST(OwnedRateTest, AgreesWithFloatingPoint) {
  test::ExpectProperty([] {
    const auto cents = [](std::int64_t low, std::int64_t high) {
      return static_cast<double>(*rc::gen::inRange<std::int64_t>(low, high)) / 100;
    };
    const double capex = cents(100, 1'000'000'000);
    const double life = cents(50, 1000);
    const double gpus = static_cast<double>(*rc::gen::inRange<std::int64_t>(1, 100));
    const double kw = cents(0, 5000);
    const double pue = cents(100, 200);
    const double tariff = cents(1, 100);
    const std::string text = "capex=" + std::to_string(capex) + ",life=" + std::to_string(life) +
                             ",gpus=" + std::to_string(gpus) + ",kw=" + std::to_string(kw) +
                             ",pue=" + std::to_string(pue) + ",tariff=" + std::to_string(tariff);
    const double rate = (capex / (life * 8760) + kw * pue * tariff) / gpus;
    const double got = static_cast<double>(ParseOwned(text).value().per_available.nano()) / 1e9;
    RC_ASSERT(std::abs(got - rate) <= 1e-9 + rate * 1e-12);
  });
}

}  // namespace
}  // namespace idleburn
