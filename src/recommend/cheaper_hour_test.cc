#include "recommend/cheaper_hour.h"

#include <gtest/gtest.h>

#include <utility>

#include "support/cost_fixture.h"

namespace idleburn {
namespace {

// GPUs of one node, busy for an hour, at a price of the catalogue beside these candidates, cheapest first.
struct Sale {
  CostScene run;

  Sale(const char* price, std::string key, std::vector<Rate::Candidate> candidates, int gpus = 1) : run(price) {
    for (int i = 0; i < gpus; ++i) Observe(run.Gpu(i), Phase::kProductive, kNanosPerHour, 80);
    run.rate.kind = RateKind::kCatalogue;
    run.rate.key = std::move(key);
    run.rate.candidates = std::move(candidates);
  }
  [[nodiscard]] CheaperHour Find(const char* lever) const {
    const CostReport cost = run.Report();
    return FindCheaperHour(lever, {run.run, run.table, cost, {}, nullptr});
  }
};

Rate::Candidate Sold(const char* key, const char* price, std::int64_t gpus = 1) {
  return {key, Money::Parse(price).value(), gpus * 1'000'000, {}};
}

TEST(CheaperHourTest, SpotIsTheSameInstanceInTheSameRegion) {
  const std::vector<Rate::Candidate> sold = {Sold("gcp:g2:spot@asia-northeast3", "0.270872"),
                                             Sold("gcp:g2:spot@us-central1", "0.397336"),
                                             Sold("gcp:g2:on_demand@us-central1", "0.706832")};
  const CheaperHour spot = Sale("0.706832", "gcp:g2:on_demand@us-central1", sold).Find("spot");
  EXPECT_NEAR(spot.cut, 1 - 0.397336 / 0.706832, 1e-12);
  // r / (1 - r) of r = 0.43786: 0.77892.
  EXPECT_EQ(spot.basis,
            "bounded by the catalogue: gcp:g2:spot@us-central1 at 0.397336 a GPU-hour, undated; subtract restarts and "
            "lost work. They also make the run longer: it pays off while they add less than 78 % to its time");
  EXPECT_EQ(spot.how, "");
  const CheaperHour none = Sale("0.706832", "gcp:g2:on_demand@europe-west1", sold).Find("spot");
  EXPECT_EQ(none.cut, 0);
  EXPECT_EQ(none.basis, "the catalogue has no spot price of gcp:g2 in europe-west1");
  EXPECT_EQ(Sale("0.7", "gcp:g2:on_demand@us-central1", {Sold("gcp:g2:spot@us-central1", "0.8")}).Find("spot").basis,
            "the catalogue has no lower price: gcp:g2:spot@us-central1 at 0.80 a GPU-hour, undated");
}

// Half the price bears twice the time; 65 % off bear 186 % more.
TEST(CheaperHourTest, SpotSaysHowMuchLongerTheRunMayTake) {
  for (const auto& [price, words] : {std::pair("2", "100 %"), std::pair("1.6", "150 %"), std::pair("1.4", "186 %")}) {
    const Sale market("4", "acme:one:on_demand@eu-1", {Sold("acme:one:spot@eu-1", price)});
    EXPECT_NE(market.Find("spot").basis.find("less than " + std::string(words)), std::string::npos) << price;
  }
}

TEST(CheaperHourTest, AnOfferElsewhereHoldsTheGpusOfANodeAndSaysWhatToRent) {
  const char* const paid = "aws:p5:on_demand@us-east-1";
  const Rate::Candidate one = Sold("nebius:one:on_demand@eu-north1", "2.95");
  const Rate::Candidate eight = Sold("nebius:eight:on_demand@eu-north1", "2.95", 8);
  const CheaperHour moved =
      Sale("6.88", paid, {one, Sold("acme:sixteen:on_demand@eu-1", "2.95", 16), eight, Sold(paid, "6.88", 8)}, 4)
          .Find("right_size_region");
  EXPECT_NEAR(moved.cut, 1 - 2.95 / 6.88, 1e-12);
  EXPECT_EQ(moved.how, "rent nebius:eight in eu-north1 at 2.95 a GPU-hour; add the cost of data transfer");
  EXPECT_EQ(moved.basis, "bounded by the catalogue: nebius:eight:on_demand@eu-north1 at 2.95 a GPU-hour, undated");
  const CheaperHour none = Sale("6.88", paid, {one, Sold(paid, "6.88", 8)}, 4).Find("right_size_region");
  EXPECT_EQ(none.cut, 0);
  EXPECT_EQ(none.basis, "the catalogue has no lower on-demand price of this GPU, 4 or more in a host");
}

TEST(CheaperHourTest, ACommittedPriceOfTheCatalogueIsQuoted) {
  Rate::Candidate committed = Sold("aws:p5:reserved@us-east-1", "2.50", 8);
  committed.as_of = Instant::FromNanos(1'793'491'200 * kNanosPerSecond);  // 2026-11-01
  const Rate::Candidate elsewhere = Sold("aws:p5:reserved@eu-west-1", "2.00", 8);
  const CheaperHour reserved = Sale("6.88", "aws:p5:on_demand@us-east-1", {elsewhere, committed}).Find("reserved");
  EXPECT_NEAR(reserved.cut, 1 - 2.5 / 6.88, 1e-12);
  EXPECT_EQ(reserved.basis,
            "bounded by the catalogue: aws:p5:reserved@us-east-1 at 2.50 a GPU-hour, as of 2026-11-01; subtract paid "
            "hours that you do not use");
  EXPECT_EQ(Sale("6.88", "aws:p5:on_demand@us-east-1", {elsewhere}).Find("reserved").basis,
            "the catalogue has no reserved price of aws:p5 in us-east-1");
}

// All offers elsewhere are in the catalogue; of spot and reserved prices it has those that it was told.
TEST(CheaperHourTest, OnlyAnOfferThatIsKnownAndNotLowerRefutesALever) {
  const char* const paid = "aws:p5:on_demand@us-east-1";
  const Sale lowest("2", paid, {Sold(paid, "2"), Sold("aws:p5:spot@us-east-1", "2"), Sold("gcp:a3:on_demand@eu", "3")});
  EXPECT_TRUE(lowest.Find("right_size_region").refuted);
  EXPECT_TRUE(lowest.Find("spot").refuted);
  EXPECT_FALSE(lowest.Find("reserved").refuted);
  const Sale dear("4", paid, {Sold("aws:p5:spot@us-east-1", "2"), Sold("gcp:a3:on_demand@eu", "3"), Sold(paid, "4")});
  for (const char* lever : {"spot", "reserved", "right_size_region"}) EXPECT_FALSE(dear.Find(lever).refuted) << lever;
  EXPECT_FALSE(Sale("0.8", paid, {}).Find("right_size_region").refuted) << "the price of another GPU: not compared";
  Sale given("8", "", {});
  EXPECT_FALSE(given.Find("right_size_region").refuted);
}

TEST(CheaperHourTest, SaysWhyNothingIsCompared) {
  Sale open("", "", {Sold("acme:one:spot@eu-1", "1")});
  open.run.rate.reason = "ambiguous_price";
  EXPECT_EQ(open.Find("spot").basis, "price unknown: give --price with a catalogue key to compare offers");
  const Sale foreign("0.8", "aws:l4:on_demand@us-east-1", {});
  for (const char* lever : {"spot", "right_size_region"}) {
    EXPECT_EQ(foreign.Find(lever).basis,
              "no offer is compared: aws:l4:on_demand@us-east-1 is the price of another GPU");
  }
  Sale given("8", "", {});
  given.run.rate.source = "--price 8";
  EXPECT_EQ(given.Find("reserved").basis, "no offer to compare with: --price 8 is not a catalogue row");
}

}  // namespace
}  // namespace idleburn
