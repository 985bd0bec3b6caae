#include "price/rate_book.h"

#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "price/resolve.h"
#include "support/property.h"
#include "text/line_reader.h"
#include "text/time_zone.h"

namespace idleburn {
namespace {

Instant At(const char* time) { return ParseRfc3339(time).value(); }

// Two hosts: two A100 on node01, an H100 on node02; and a price list of both models.
struct Site {
  DeviceTable devices;
  std::vector<DeviceId> gpus;
  RateBook book;
  std::optional<RunSpan> span = RunSpan{At("2026-03-01T00:00:00Z"), At("2026-03-02T00:00:00Z")};

  Site() {
    Add("GPU-aaaa0000-0000-0000-0000-000000000001", "node01", "NVIDIA A100-SXM4-80GB");
    Add("GPU-aaaa0000-0000-0000-0000-000000000002", "node01", "NVIDIA A100-SXM4-80GB");
    Add("GPU-bbbb0000-0000-0000-0000-000000000003", "node02", "NVIDIA H100 80GB HBM3");
    book.now = At("2026-03-10T00:00:00Z");
    Sell("a", "A100-80GB-SXM", 150);
    Sell("h", "H100-80GB-SXM", 300);
  }
  void Add(const char* uuid, const char* host, const char* name) {
    DeviceKey key;
    key.uuid = uuid;
    key.host = host;
    key.name = name;
    key.index = static_cast<int>(gpus.size());
    gpus.push_back(devices.Enter(key));
  }
  void Sell(const char* instance, const char* gpu, std::int64_t cents) {
    CatalogueRow row;
    row.provider = "acme";
    row.instance = instance;
    row.region = "eu-1";
    row.gpu = gpu;
    row.per_hour = Money::Cents(cents);
    book.catalogue.Put(row);
  }
  void State(const char* text) {
    const std::vector<StatedPrice> prices = ParseStatedPrices(text).value();
    for (const StatedPrice& price : prices) {
      book.stated.push_back({price.gpus, RateOfPrice(book.catalogue, price, book.now).value(), price.text});
    }
  }
  void Agree(const std::string& rows) {
    StringSource in("name,applies_to,per_gpu_hour,committed_per_hour,gpus,currency,from,until\n" + rows, "c.csv");
    book.contracts = ReadContracts(in).value();
  }
  [[nodiscard]] Result<RateCard> Card() const { return RatesOf(book, devices, gpus, span); }
  // Cents per GPU-hour of each GPU; -1 without one.
  [[nodiscard]] std::vector<std::int64_t> Cents() const {
    const RateCard card = Card().value();
    std::vector<std::int64_t> cents;
    for (const DeviceId gpu : gpus) {
      const std::optional<Money>& rate = card.Of(gpu).per_gpu_hour;
      cents.push_back(rate ? rate->nano() / kCent : -1);
    }
    return cents;
  }
};
using Prices = std::vector<std::int64_t>;

TEST(RateBookTest, EachModelHasItsOwnRow) {
  const Site site;
  EXPECT_EQ(site.Cents(), (Prices{150, 150, 300}));
  const RateCard card = site.Card().value();
  EXPECT_EQ(card.Of(site.gpus[2]).key, "acme:h:on_demand@eu-1");
  EXPECT_EQ(card.Used(site.gpus).size(), 2U);  // the two A100 share theirs
}

TEST(RateBookTest, WhatNamesAGpuMoreCloselyComesFirst) {
  Site site;
  site.State("9,A100=1.29,node01=1.9,GPU-aaaa0000-0000-0000-0000-000000000002=0.5");
  EXPECT_EQ(site.Cents(), (Prices{190, 50, 900}));
  EXPECT_EQ(site.Card()->Of(site.gpus[0]).source, "--price node01=1.9");
}

TEST(RateBookTest, AKeyMayBeThePriceOfSome) {
  Site site;
  site.State("H100=acme:a@eu-1");
  EXPECT_EQ(site.Cents(), (Prices{150, 150, 150}));
  const RateCard card = site.Card().value();
  ASSERT_EQ(card.remarks().size(), 1U);
  EXPECT_EQ(card.remarks()[0],
            "acme:a:on_demand@eu-1 is the price of another GPU: it sells A100-80GB-SXM, and this run has NVIDIA H100 "
            "80GB HBM3");
  // What else sells an A100 is no cheaper hour of an H100.
  EXPECT_TRUE(card.Of(site.gpus[2]).candidates.empty());
  EXPECT_EQ(card.Used(site.gpus).size(), 1U) << "one price stays one";
  EXPECT_FALSE(Site().Card()->Of(site.gpus[2]).candidates.empty());
}

TEST(RateBookTest, AKeyOfTheSameGpuOrOfAnUnknownOneIsNotRemarkedOn) {
  Site site;
  site.Sell("odd", "Voodoo 5", 100);
  site.Add("GPU-cccc0000-0000-0000-0000-000000000004", "node03", "Quadro Plex 9000");
  site.State("A100=acme:a@eu-1,H100=acme:odd@eu-1,node03=acme:h@eu-1");
  EXPECT_TRUE(site.Card()->remarks().empty());
}

TEST(RateBookTest, TwoPricesThatNameAGpuAlikeAreAnError) {
  Site site;
  site.State("A100=1,80GB=2");
  ASSERT_FALSE(site.Card());
  EXPECT_NE(site.Card().error().message.find("both name NVIDIA A100-SXM4-80GB"), std::string::npos);
}

TEST(RateBookTest, AMisspeltGpuIsToldWithWhatThereIs) {
  Site site;
  site.State("8,node3=1.9");
  const RateCard card = site.Card().value();
  ASSERT_EQ(card.remarks().size(), 1U);
  EXPECT_NE(card.remarks()[0].find("no GPU of this run is called node3"), std::string::npos) << card.remarks()[0];
  EXPECT_NE(card.remarks()[0].find("hosts node01, node02"), std::string::npos) << card.remarks()[0];
  EXPECT_NE(card.remarks()[0].find("models NVIDIA A100-SXM4-80GB, NVIDIA H100 80GB HBM3"), std::string::npos);
  site.book.must_apply = true;
  ASSERT_FALSE(site.Card());
  EXPECT_EQ(site.Card().error().kind, Error::Kind::kUsage);
}

TEST(RateBookTest, TheOrderIsStatedContractOwnedCatalogue) {
  Site site;
  EXPECT_EQ(site.Cents(), (Prices{150, 150, 300}));
  site.book.owned = RateOfOwned("capex=8760,life=1,gpus=1").value();
  EXPECT_EQ(site.Cents(), (Prices{100, 100, 100}));
  site.Agree("c,H100,2.50,,,,,\n");
  EXPECT_EQ(site.Cents(), (Prices{100, 100, 250}));
  EXPECT_EQ(site.Card()->Of(site.gpus[2]).kind, RateKind::kContract);
  site.State("node02=7");
  EXPECT_EQ(site.Cents(), (Prices{100, 100, 700}));
}

TEST(RateBookTest, AContractHoldsFromItsFirstDayToTheOneBeforeItsEnd) {
  Site site;
  const auto cents = [&](const std::string& term) {
    site.Agree("c,A100,1.00,,,," + term + "\n");
    return site.Cents()[0];
  };
  EXPECT_EQ(cents("2026-03-01,2026-03-02"), 100);  // exactly the run
  EXPECT_EQ(cents(","), 100);
  EXPECT_EQ(cents("2026-03-02,"), 150);  // begins as the run ends
  EXPECT_EQ(cents(",2026-03-01"), 150);
  EXPECT_EQ(cents("2026-03-01T00:00:01Z,"), -1);  // a part of it: said, not guessed
  EXPECT_EQ(cents(",2026-03-01T23:59:59Z"), -1);
  const RateCard card = site.Card().value();
  EXPECT_EQ(card.Of(site.gpus[0]).reason, "partly_under_contract");
  ASSERT_EQ(card.remarks().size(), 1U);
  EXPECT_NE(card.remarks()[0].find("covers only a part of this run"), std::string::npos) << card.remarks()[0];
  site.span.reset();  // no dates
  EXPECT_EQ(cents("2026-03-01,2026-03-02"), -1);
  EXPECT_EQ(cents(","), 100);
}

TEST(RateBookTest, TheClosestContractCountsAndThenTheFirst) {
  Site site;
  site.Agree("wide,all,3,,,,,\nfirst,A100,1,,,,,\nsecond,A100,2,,,,,\n");
  EXPECT_EQ(site.Cents(), (Prices{100, 100, 300}));
}

TEST(RateBookTest, ACommitmentCoversSoManyGpusAndNoMore) {
  Site site;
  site.Agree("c,A100,,2.00,1,,,\n");
  EXPECT_EQ(site.Cents(), (Prices{200, 150, 300}));
  ASSERT_EQ(site.Card()->remarks().size(), 1U);
  EXPECT_NE(site.Card()->remarks()[0].find("covers fewer GPUs"), std::string::npos);
}

TEST(RateBookTest, AContractOfAPartOfTheRunTakesThePriceOfItsOwnGpusOnly) {
  Site site;
  site.Agree("old,all,,2.00,1,,,2026-03-01T12:00:00Z\nrest,all,3.00,,,,,\n");
  EXPECT_EQ(site.Cents(), (Prices{-1, 300, 300}));
  const RateCard card = site.Card().value();
  ASSERT_EQ(card.remarks().size(), 2U);
  EXPECT_NE(card.remarks()[0].find("contract old: 2.00 per GPU-hour"), std::string::npos) << card.remarks()[0];
  EXPECT_NE(card.remarks()[0].find("covers only a part of this run"), std::string::npos) << card.remarks()[0];
  EXPECT_NE(card.remarks()[1].find("covers fewer GPUs"), std::string::npos) << card.remarks()[1];
}

// A commitment for three of five GPUs, and one for a single GPU: by host and index, whichever was read first.
TEST(RateBookTest, TheOrderOfTheReadingsDoesNotShowUnderAContract) {
  test::ExpectProperty([] {
    std::vector<std::pair<std::string, int>> places = {{"n1", 0}, {"n1", 2}, {"n1", 10}, {"n2", 0}, {"n2", 1}};
    for (std::size_t i = places.size(); i > 1; --i) {
      std::swap(places[i - 1], places[*rc::gen::inRange<std::size_t>(0, i)]);
    }
    Site site;
    site.devices = DeviceTable();
    site.gpus.clear();
    for (const auto& [host, index] : places) {
      DeviceKey key;
      key.host = host;
      key.index = index;
      key.name = "NVIDIA A100-SXM4-80GB";
      site.gpus.push_back(site.devices.Enter(key));
    }
    site.Agree("three,A100,,3.00,3,,,\none,A100,0.50,,1,,,\n");
    const std::map<std::pair<std::string, int>, std::int64_t> want = {
        {{"n1", 0}, 100}, {{"n1", 2}, 100}, {{"n1", 10}, 100}, {{"n2", 0}, 50}, {{"n2", 1}, 150}};
    const Prices cents = site.Cents();
    for (std::size_t i = 0; i < places.size(); ++i) RC_ASSERT(cents[i] == want.at(places[i]));
  });
}

TEST(RateBookTest, WhatACommitmentPaysForUnusedGpusIsSaidApart) {
  Site site;
  for (int i = 3; i < 6; ++i) {
    site.Add(("GPU-aaaa0000-0000-0000-0000-00000000001" + std::to_string(i)).c_str(), "node01",
             "NVIDIA A100-SXM4-80GB");
  }
  site.Agree("cd-7,A100,,16.00,8,,,\n");  // eight at 2.00, five used
  EXPECT_EQ(site.Cents(), (Prices{200, 200, 300, 200, 200, 200}));
  ASSERT_EQ(site.Card()->remarks().size(), 1U);
  EXPECT_EQ(site.Card()->remarks()[0],
            "contract cd-7 pays for 8 GPUs, and this run has 5: the other 3 cost 6.00 USD an hour, and no figure here "
            "includes that");
}

TEST(RateBookTest, AMigInstanceHasTheRateOfItsBoard) {
  Site site;
  DeviceKey key;
  key.uuid = "GPU-bbbb0000-0000-0000-0000-000000000003";
  key.host = "node02";
  key.mig = MigInstance{"7", "1g.10gb", 1};
  site.gpus = {site.devices.Enter(key)};
  site.State("GPU-bbbb=4");
  EXPECT_EQ(site.Cents(), Prices{400});
  const RateCard card = site.Card().value();
  EXPECT_EQ(card.IndexOf(site.gpus[0]), card.IndexOf(*site.devices[site.gpus[0]].board));
}

TEST(RateBookTest, TheMachinesInstanceIsNoPriceOfGpusItCannotHave) {
  Site site;
  site.Sell("big", "H100-80GB-SXM", 500);
  site.book.instance = "acme:big";
  EXPECT_EQ(site.Cents(), (Prices{150, 150, 500}));
}

TEST(RateBookTest, WithoutGpusOnlyWhatIsForAllCounts) {
  Site site;
  site.State("A100=1,9");
  site.gpus.clear();
  EXPECT_EQ(site.Card()->rates().front().per_gpu_hour, Money::Cents(900));
}

}  // namespace
}  // namespace idleburn
