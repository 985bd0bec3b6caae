#include "price/resolve.h"

#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <cmath>
#include <map>
#include <string>
#include <vector>

#include "support/property.h"
#include "text/time_zone.h"

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

const Instant kAugust = ParseRfc3339("2026-08-10T00:00:00Z").value();

// What --price with that text comes to.
Result<Rate> RateOf(const Catalogue& catalogue, const std::string& price, Instant now = kAugust) {
  return RateOfPrice(catalogue, {GpuSelector(""), price, price}, now);
}

PriceRequest Having(std::vector<std::string> gpus) {
  PriceRequest request;
  request.gpu_names = std::move(gpus);
  request.now = kAugust;
  return request;
}

CatalogueRow Offer(std::string instance, std::string gpu, std::int64_t gpus, Money price,
                   Market market = Market::kOnDemand) {
  CatalogueRow row;
  row.provider = "acme";
  row.region = "eu-1";
  row.instance = std::move(instance);
  row.gpu = std::move(gpu);
  row.gpu_micros = gpus * 1'000'000;
  row.market = market;
  row.per_hour = price;
  return row;
}

// The offers of a GPU, in their order.
std::vector<std::string> KeysOf(const Rate& rate) {
  std::vector<std::string> keys;
  for (const Rate::Candidate& candidate : rate.candidates) keys.push_back(candidate.key);
  return keys;
}

TEST(ResolveTest, TheNameOfAGpuIsTheRangeOfItsOffers) {
  Catalogue catalogue;
  catalogue.Put(Offer("sxm8", "H100-80GB-SXM", 8, Money::Cents(8000)));
  catalogue.Put(Offer("sxm1", "H100-80GB-SXM", 1, Money::Cents(300), Market::kSpot));
  catalogue.Put(Offer("nvl", "H100-94GB-NVL", 1, Money::Cents(698)));
  catalogue.Put(Offer("a10g", "A10G-24GB", 1, Money::Cents(100)));
  catalogue.Put(Offer("a10", "A10-24GB", 1, Money::Cents(320)));
  const Rate family = RateOf(catalogue, "H100").value();
  EXPECT_FALSE(family.per_gpu_hour);
  EXPECT_EQ(family.reason, "ambiguous_price");
  EXPECT_EQ(family.low, Money::Cents(300));
  EXPECT_EQ(family.high, Money::Cents(1000));
  EXPECT_EQ(KeysOf(family),
            (std::vector<std::string>{"acme:sxm1:spot@eu-1", "acme:nvl:on_demand@eu-1", "acme:sxm8:on_demand@eu-1"}));
  // A product, by the catalogue's name or the driver's.
  EXPECT_EQ(KeysOf(RateOf(catalogue, "NVIDIA H100 80GB HBM3").value()).size(), 2U);
  EXPECT_EQ(KeysOf(RateOf(catalogue, "h100-80gb-sxm").value()).size(), 2U);
  // Offers that agree are a price, with its source. An A10 is no A10G.
  const Rate one = RateOf(catalogue, "A10").value();
  EXPECT_EQ(one.per_gpu_hour, Money::Cents(320));
  EXPECT_EQ(one.source, "catalogue: acme:a10:on_demand@eu-1, undated");
}

TEST(ResolveTest, AGpuWithoutAnOfferOrAMistypedOneIsAnError) {
  const auto error = [](const std::string& price) { return RateOf(Catalogue::BuiltIn(), price).error(); };
  EXPECT_EQ(error("RTX 3080").message,
            "--price: the catalogue has no price of the GPU RTX 3080; give USD per GPU-hour, like 2.49, or a list of "
            "prices with --prices");
  EXPECT_EQ(error("RTX 3080").kind, Error::Kind::kUsage);
  for (const auto& [typed, meant] : std::map<std::string, std::string>{
           {"H10O", "H100"}, {"A1000", "A100"}, {"H2000", "H200"}, {"M1300X", "MI300X"}, {"RTX 409", "RTX-4090"}}) {
    const std::string message = error(typed).message;
    EXPECT_NE(message.find("; did you mean the GPU " + meant + "?"), std::string::npos) << message;
  }
  for (const char* other : {"dear", "nonsense", "x", "2,49", "$3"}) {
    EXPECT_EQ(error(other).message.find("did you mean"), std::string::npos) << error(other).message;
  }
}

TEST(ResolveTest, TakesANumber) {
  const Rate rate = RateOf(Catalogue(), "8").value();
  EXPECT_EQ(rate.kind, RateKind::kGiven);
  EXPECT_EQ(rate.per_gpu_hour, Money::Cents(800));
  EXPECT_EQ(rate.source, "--price 8");
  EXPECT_EQ(RateOf(Catalogue(), "0")->per_gpu_hour, Money());
}

TEST(ResolveTest, RefusesWhatIsNoPrice) {
  for (const std::string text : {"-1", "1e30", "", "nan", "inf", "8 USD", "9300000000", "0.0000000001", "$8"}) {
    const auto rate = RateOf(Catalogue::BuiltIn(), text);
    ASSERT_FALSE(rate) << text;
    EXPECT_EQ(rate.error().kind, Error::Kind::kUsage) << text;
    EXPECT_EQ(rate.error().message.find('\n'), std::string::npos);
  }
  EXPECT_NE(RateOf(Catalogue(), "$2.50").error().message.find("without a currency sign"), std::string::npos);
}

TEST(ResolveTest, AWrongNumberIsAnsweredInSentences) {
  EXPECT_EQ(RateOf(Catalogue(), "9300000000").error().message,
            "--price: '9300000000' is too large; amounts up to 9.2 billion are kept exactly; give USD per GPU-hour, "
            "like 2.49, or a key like aws:p5.48xlarge@us-east-1");
  EXPECT_EQ(RateOf(Catalogue(), "0.0000000001").error().message,
            "--price: '0.0000000001' has more than nine decimals; round it to nine; give USD per GPU-hour, like 2.49, "
            "or a key like aws:p5.48xlarge@us-east-1");
}

// A range is as old as the oldest of its offers; one without a date is not called old.
TEST(ResolveTest, OldCandidatesAreFlagged) {
  Catalogue catalogue;
  catalogue.Put(Offer("one", "L40S-48GB", 1, Money::Cents(150)));
  CatalogueRow dated = Offer("four", "L40S-48GB", 4, Money::Cents(800));
  dated.as_of = kAugust;
  catalogue.Put(dated);
  PriceRequest request = Having({"NVIDIA L40S"});
  const Nanos day(24 * kNanosPerHour);
  request.now = kAugust + Nanos(90 * day.count());
  EXPECT_FALSE(RateOfListed(catalogue, request)->stale);
  request.now = kAugust + Nanos(91 * day.count());
  EXPECT_EQ(RateOfListed(catalogue, request)->reason, "ambiguous_price");
  EXPECT_TRUE(RateOfListed(catalogue, request)->stale);
}

TEST(ResolveTest, TakesAKey) {
  const Catalogue catalogue = Catalogue::BuiltIn();
  const Rate rate = RateOf(catalogue, "aws:p5.48xlarge@us-east-1").value();
  EXPECT_EQ(rate.kind, RateKind::kCatalogue);
  EXPECT_EQ(FormatExact(*rate.per_gpu_hour), "6.88");  // 55.04 / 8
  EXPECT_EQ(rate.source, "catalogue: aws:p5.48xlarge:on_demand@us-east-1, as of 2026-07-20");
  EXPECT_FALSE(rate.stale);
  const Rate spot = RateOf(catalogue, "nebius:gpu-h100-sxm_8gpu-128vcpu-1600gb:spot@eu-north1").value();
  EXPECT_EQ(FormatExact(*spot.per_gpu_hour), "1.25");
  EXPECT_FALSE(spot.as_of);
  EXPECT_FALSE(spot.stale);
  EXPECT_NE(spot.source.find("undated"), std::string::npos);
}

TEST(ResolveTest, SuggestsAKey) {
  const Catalogue catalogue = Catalogue::BuiltIn();
  EXPECT_EQ(RateOf(catalogue, "aws:p5.48xlarg@us-east-1").error().message,
            "--price: 'aws:p5.48xlarg@us-east-1' is not in the price catalogue; did you mean "
            "aws:p5.48xlarge:on_demand@us-east-1?");
  EXPECT_EQ(RateOf(catalogue, "gcp:a3-highgpu-1g:spt@us-central1").error().message,
            "--price: 'gcp:a3-highgpu-1g:spt@us-central1' is not in the price catalogue; did you mean "
            "gcp:a3-highgpu-1g:spot@us-central1?");
  // Not offered there: never the on-demand price in its place.
  const auto spot = RateOf(catalogue, "aws:p5.48xlarge:spot@us-east-1");
  ASSERT_FALSE(spot);
  EXPECT_EQ(spot.error().kind, Error::Kind::kUsage);
  EXPECT_NE(RateOf(catalogue, "aws:p5.48xlarge").error().message.find("is not a key"), std::string::npos);
}

TEST(ResolveTest, FlagsPricesOlderThanNinetyDays) {
  const Instant day_90 = ParseRfc3339("2026-10-18T00:00:00Z").value();  // after 2026-07-20
  EXPECT_FALSE(RateOf(Catalogue::BuiltIn(), "aws:p5.48xlarge@us-east-1", day_90)->stale);
  EXPECT_TRUE(RateOf(Catalogue::BuiltIn(), "aws:p5.48xlarge@us-east-1", day_90 + Nanos(1))->stale);
}

TEST(ResolveTest, TakesTheRateOfOwnedHardware) {
  const Rate rate = RateOfOwned("capex=87600,life=1,gpus=4,hosting=2,utilisation=0.5").value();
  EXPECT_EQ(rate.kind, RateKind::kOwned);
  EXPECT_EQ(FormatExact(*rate.per_gpu_hour), "3.00");
  EXPECT_EQ(
      rate.source,
      "--owned: 3.00 per available GPU-hour, 6.00 per used GPU-hour; not given: residual, kw, pue, tariff, staff");
}

TEST(ResolveTest, AGpuNameDecidesOnlyAmongEqualPrices) {
  Catalogue catalogue;
  catalogue.Put(Offer("one", "L40S-48GB", 1, Money::Cents(150)));
  catalogue.Put(Offer("four", "L40S-48GB", 4, Money::Cents(600)));
  const Rate agreed = RateOfListed(catalogue, Having({"NVIDIA L40S", "NVIDIA L40S"})).value();
  EXPECT_EQ(agreed.kind, RateKind::kCatalogue);
  EXPECT_EQ(agreed.per_gpu_hour, Money::Cents(150));

  catalogue.Put(Offer("one", "L40S-48GB", 1, Money::Cents(60), Market::kSpot));
  const Rate open = RateOfListed(catalogue, Having({"NVIDIA L40S"})).value();
  EXPECT_EQ(open.kind, RateKind::kNone);
  EXPECT_FALSE(open.per_gpu_hour);
  EXPECT_EQ(open.reason, "ambiguous_price");
  EXPECT_EQ(open.low, Money::Cents(60));
  EXPECT_EQ(open.high, Money::Cents(150));
  ASSERT_EQ(open.candidates.size(), 3U);
  EXPECT_EQ(open.candidates.front().key, "acme:one:spot@eu-1");
  EXPECT_EQ(open.candidates.back().gpu_micros, 1'000'000);
  for (const Rate::Candidate& c : open.candidates) {  // each settles it
    EXPECT_EQ(RateOf(catalogue, c.key)->per_gpu_hour, c.per_gpu_hour);
  }
}

TEST(ResolveTest, NeverGuesses) {
  const Catalogue catalogue = Catalogue::BuiltIn();
  EXPECT_EQ(RateOfListed(catalogue, Having({"NVIDIA H100 PCIe"}))->reason, "no_price");
  EXPECT_EQ(RateOfListed(catalogue, Having({"NVIDIA GeForce RTX 2080 SUPER"}))->reason, "no_price");
  EXPECT_EQ(RateOfListed(catalogue, Having({}))->reason, "no_price");
  // One GPU of the run without a price: there is no rate for all.
  EXPECT_EQ(RateOfListed(catalogue, Having({"NVIDIA L40S", "Quadro P2000"}))->reason, "no_price");
}

// A row that says no more than "V100" is the price of a V100, but of which nobody knows: the family has four products.
TEST(ResolveTest, ANameOfSeveralProductsIsThePriceOfNone) {
  const Catalogue catalogue = Catalogue::BuiltIn();
  for (const char* name : {"V100", "Tesla V100", "NVIDIA V100", "H100", "NVIDIA A100"}) {
    EXPECT_EQ(RateOfListed(catalogue, Having({name}))->reason, "no_price") << name;
    EXPECT_TRUE(RowsOfGpu(catalogue, name).empty()) << name;
  }
  EXPECT_EQ(RateOfListed(catalogue, Having({"Tesla V100-PCIE-16GB"}))->reason, "ambiguous_price");
  Catalogue own = Catalogue();
  own.Put(Offer("one", "V100", 1, Money::Cents(79)));
  own.Put(Offer("one", "V100", 1, Money::Cents(30), Market::kSpot));
  own.Put(Offer("two", "V100", 1, Money::Cents(20)));
  own.Put(Offer("new", "Trainium9", 1, Money::Cents(300)));
  // By its key it has a price, and its own instance as spot is the same GPU; another instance may be another.
  const Rate one = RateOf(own, "acme:one@eu-1").value();
  EXPECT_EQ(one.per_gpu_hour, Money::Cents(79));
  ASSERT_EQ(one.candidates.size(), 2U);
  EXPECT_EQ(one.candidates.front().key, "acme:one:spot@eu-1");
  // A product that this program does not know is one all the same.
  EXPECT_EQ(RateOfListed(own, Having({"Trainium9"}))->per_gpu_hour, Money::Cents(300));
}

TEST(ResolveTest, RangesOfTheCatalogueByGpu) {
  const Catalogue catalogue = Catalogue::BuiltIn();
  const Rate h100 = RateOfListed(catalogue, Having({"NVIDIA H100 80GB HBM3"})).value();
  EXPECT_EQ(h100.reason, "ambiguous_price");
  EXPECT_EQ(FormatExact(*h100.low), "1.25");  // Nebius spot
  EXPECT_EQ(RateOfListed(catalogue, Having({"NVIDIA GH200 480GB"}))->per_gpu_hour, Money::Cents(229));
  EXPECT_EQ(FormatMoney(*RateOfListed(catalogue, Having({"AMD Instinct MI300X"}))->low, 3), "6.000");
  EXPECT_EQ(FormatMoney(*RateOfListed(catalogue, Having({"NVIDIA H100 NVL"}))->low, 3), "6.980");
  EXPECT_EQ(FormatMoney(*RateOfListed(catalogue, Having({"Tesla T4"}))->low, 3), "0.526");
}

TEST(ResolveTest, AKnownInstanceNarrowsTheChoice) {
  PriceRequest request = Having({"NVIDIA H100 80GB HBM3"});
  request.instance = "aws:p5.48xlarge";  // one region and market in the catalogue
  const Rate rate = RateOfListed(Catalogue::BuiltIn(), request).value();
  EXPECT_EQ(FormatExact(rate.per_gpu_hour.value()), "6.88");
}

TEST(ResolveTest, RegionAndMarketNarrowItFurtherAndOthersSettleNothing) {
  Catalogue catalogue;
  const struct {
    const char* region;
    Market market;
    std::int64_t cents;
  } rows[] = {{"eu-1", Market::kOnDemand, 800}, {"eu-1", Market::kSpot, 300}, {"us-1", Market::kOnDemand, 700}};
  for (const auto& row : rows) {
    CatalogueRow offer = Offer("big", "H100-80GB-SXM", 1, Money::Cents(row.cents), row.market);
    offer.region = row.region;
    catalogue.Put(offer);
  }
  PriceRequest request = Having({"NVIDIA H100 80GB HBM3"});
  request.instance = "acme:big";
  const auto cents = [&](const char* region, const char* market) {
    request.region = region;
    request.market = market;
    const Rate rate = RateOfListed(catalogue, request).value();
    EXPECT_EQ(rate.reason.empty(), rate.per_gpu_hour.has_value());
    return rate.per_gpu_hour ? rate.per_gpu_hour->nano() / kCent : -static_cast<std::int64_t>(rate.candidates.size());
  };
  EXPECT_EQ(cents("EU-1", "spot"), 300);
  EXPECT_EQ(cents("eu-1", "on_demand"), 800);
  EXPECT_EQ(cents("us-1", ""), 700);
  EXPECT_EQ(cents("", "spot"), 300);
  EXPECT_EQ(cents("eu-1", ""), -2);
  EXPECT_EQ(cents("", ""), -3);
  EXPECT_EQ(cents("us-1", "spot"), -3);  // not sold there as far as is known: no other offer is its price
  EXPECT_EQ(cents("mars-1", ""), -3);
}

}  // namespace

}  // namespace idleburn
