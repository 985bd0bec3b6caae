#include "price/catalogue.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <set>
#include <sstream>

#include "places.h"
#include "telemetry/gpu_facts.h"
#include "text/csv.h"
#include "text/line_reader.h"

namespace idleburn {

namespace {

TEST(CatalogueTest, ShipsOffersPerMarket) {
  const Catalogue catalogue = Catalogue::BuiltIn();
  const CatalogueRow* spot = catalogue.Find("gcp:a3-highgpu-1g:spot@us-central1");
  ASSERT_NE(spot, nullptr);
  EXPECT_EQ(FormatMoney(*PerGpuHour(*spot), 3), "6.326");
  EXPECT_EQ(FormatMoney(*PerGpuHour(*catalogue.Find("aws:P5.48XLARGE:on_demand@us-east-1")), 3), "6.880");
  EXPECT_EQ(catalogue.Find("aws:p5.48xlarge:spot@us-east-1"), nullptr);            // blank is not offered
  EXPECT_EQ(catalogue.Find("runpod:1x_A100-80GB_SECURE:spot@US"), nullptr);        // equal to on-demand
  EXPECT_FALSE(catalogue.Find("lambda:gpu_1x_gh200:on_demand@us-east-1")->as_of);  // undated
}

TEST(CatalogueTest, EveryRowIsAPriceOfAKnownProduct) {
  const Catalogue catalogue = Catalogue::BuiltIn();
  std::size_t spot = 0;
  for (const CatalogueRow* row : catalogue.Rows()) {
    EXPECT_TRUE(row->gpu == "V100" || FactsFor(row->gpu)) << KeyOf(*row);
    EXPECT_LT(*PerGpuHour(*row), Money::Cents(10'000)) << KeyOf(*row);
    EXPECT_FALSE(row->source.empty());
    if (row->market != Market::kSpot) continue;
    ++spot;
    CatalogueRow on_demand = *row;
    on_demand.market = Market::kOnDemand;
    const CatalogueRow* same = catalogue.Find(KeyOf(on_demand));
    ASSERT_NE(same, nullptr);
    EXPECT_LT(row->per_hour, same->per_hour) << KeyOf(*row);
  }
  EXPECT_EQ(spot, 286U);
}

// Consumer and workstation boards that people rent. Each has at least three providers.
TEST(CatalogueTest, HasBoardsThatAreRentedByTheHour) {
  const Catalogue catalogue = Catalogue::BuiltIn();
  for (const char* name : {"NVIDIA GeForce RTX 3090", "NVIDIA GeForce RTX 4090", "NVIDIA GeForce RTX 5090",
                           "NVIDIA RTX A6000", "NVIDIA RTX 6000 Ada Generation"}) {
    const std::optional<GpuFacts> facts = FactsFor(name);
    ASSERT_TRUE(facts) << name;
    EXPECT_TRUE(facts->half_tflops && facts->memory_gb && facts->power_limit_mw) << name;
    std::set<std::string> providers;
    for (const CatalogueRow* row : catalogue.Rows()) {
      if (row->gpu == facts->gpu) providers.insert(row->provider);
    }
    EXPECT_GE(providers.size(), 3U) << name;
  }
  EXPECT_EQ(FormatExact(*PerGpuHour(*catalogue.Find("tensordock:rtx4090:on_demand@global"))), "0.35");
}

// The shipped list against the table that it was taken from.
TEST(CatalogueTest, AgreesWithItsSource) {
  const auto path = std::filesystem::path(IDLEBURN_ROOT) / ".." / "shared/data/prices/gpu_prices_2026.csv";
  std::ifstream file(path);
  if (!file) GTEST_SKIP() << "needs " << path;
  std::stringstream text;
  text << file.rdbuf();
  StringSource in(text.str(), path.filename().string());
  CsvTable table(in);
  ASSERT_TRUE(table.ReadHeader());
  const Catalogue catalogue = Catalogue::BuiltIn();
  std::size_t compared = 0;
  while (table.Next().value()) {
    for (const auto& [market, column] : {std::pair{"on_demand", "on_demand_usd_h"}, std::pair{"spot", "spot_usd_h"}}) {
      const std::string key = std::string(table.Cell("provider")) + ":" + std::string(table.Cell("instance_type")) +
                              ":" + market + "@" + std::string(table.Cell("region"));
      const CatalogueRow* row = catalogue.Find(key);
      ASSERT_EQ(row == nullptr, table.Cell(column).empty()) << key;
      if (row == nullptr) continue;
      bool rounded = false;
      EXPECT_EQ(row->per_hour, Money::ParseRounding(table.Cell(column), &rounded).value()) << key;
      EXPECT_EQ(std::to_string(row->gpu_micros / 1'000'000), table.Cell("gpu_count")) << key;
      EXPECT_EQ(row->gpu.substr(0, 2), table.Cell("gpu").substr(0, 2)) << key;
      ++compared;
    }
  }
  EXPECT_EQ(compared, 857U + 280U);
}

TEST(CatalogueTest, ALaterRowOfTheSameKeyWins) {
  Catalogue catalogue = Catalogue::BuiltIn();
  const std::size_t before = catalogue.Rows().size();
  CatalogueRow mine = *catalogue.Find("aws:p5.48xlarge:on_demand@us-east-1");
  mine.per_hour = Money::Cents(4000);
  catalogue.Put(mine);
  EXPECT_EQ(catalogue.Rows().size(), before);
  EXPECT_EQ(catalogue.Find("aws:p5.48xlarge:on_demand@us-east-1")->per_hour, Money::Cents(4000));
}

TEST(CatalogueTest, SuggestsTheNearestKey) {
  const Catalogue catalogue = Catalogue::BuiltIn();
  EXPECT_EQ(catalogue.Nearest("aws:p5.48xlrge:on_demand@us-east-1"), "aws:p5.48xlarge:on_demand@us-east-1");
  EXPECT_EQ(catalogue.Nearest("gcp:a3-highgpu-1g:spot@us-centrall"), "gcp:a3-highgpu-1g:spot@us-central1");
  // A region that is not listed is no other machine, which may be one letter away.
  EXPECT_EQ(catalogue.Nearest("gcp:a3-highgpu-1g:on_demand@mars").rfind("gcp:a3-highgpu-1g:on_demand@", 0), 0U);
  EXPECT_EQ(catalogue.Nearest("a@b:c"), "");
  EXPECT_EQ(Catalogue().Nearest("aws"), "");
}

constexpr std::string_view kHeader = "provider,region,instance,gpu,gpu_count,market,price,as_of,source\n";
constexpr std::string_view kSkyPilot =
    "InstanceType,AcceleratorName,AcceleratorCount,vCPUs,MemoryGiB,Price,Region,GpuInfo,SpotPrice\n";

Result<PriceFile> Read(const std::string& text, DataQuality* quality, const std::string& provider = "acme",
                       const Catalogue& known = Catalogue()) {
  StringSource in(text, "prices.csv");
  return ReadPrices(in, {provider, std::nullopt}, known, *quality);
}

std::string ErrorOf(const std::string& text) {
  DataQuality quality;
  const auto file = Read(text, &quality);
  return file ? "" : file.error().message;
}

TEST(PriceFileTest, WritesWhatItReads) {
  const std::string text = std::string(kHeader) +
                           "acme,eu-1,big.8x,H100-80GB-SXM,8,spot,12.345678901,2026-07-20,price list\n"
                           "acme,eu-1,part,A10-24GB,0.167,on_demand,0.5,,\n";
  DataQuality quality;
  const PriceFile file = Read(text, &quality).value();
  ASSERT_EQ(file.rows.size(), 2U);
  EXPECT_EQ(KeyOf(file.rows[0]), "acme:big.8x:spot@eu-1");
  EXPECT_FALSE(file.rows[1].as_of);
  EXPECT_EQ(FormatExact(*PerGpuHour(file.rows[1])), "2.994011976");  // 0.5 / 0.167
  EXPECT_EQ(WritePrices(std::vector<const CatalogueRow*>{&file.rows[0], &file.rows[1]}), text);
}

TEST(PriceFileTest, RoundsAndCountsPricesWithTooManyDecimals) {
  DataQuality quality;
  const PriceFile file =
      Read(std::string(kHeader) + "acme,eu-1,a,T4-16GB,1,spot,1.0000000005,,\nacme,eu-1,b,T4-16GB,1,spot,1,,\n",
           &quality)
          .value();
  EXPECT_EQ(file.rows[0].per_hour.nano(), 1'000'000'000);
  EXPECT_EQ(quality.CountOf(QualityId::kPriceRounded), 1);
  EXPECT_EQ(quality.Get(QualityId::kPriceRounded).first_place, "prices.csv:2");
}

TEST(PriceFileTest, ImportsSkyPilotWithoutItsTraps) {
  Catalogue known;
  CatalogueRow pcie;
  pcie.provider = "acme";
  pcie.instance = "NC24";
  pcie.gpu = "A100-80GB-PCIe";
  known.Put(pcie);
  DataQuality quality;
  const PriceFile file =
      Read(std::string(kSkyPilot) +
               "gpu-h100-sxm_8,H100,8.0,128,1600,23.60,eu-1,\"{'Gpus': [{'Name': 'H100', 'Count': 8}]}\",10.00\n"
               "NC24,A100-80GB,1,24,220,3.673,us-1,,\n"  // form known from the same instance
               "mystery,H100,1,24,220,2.5,us-1,,2.5\n"   // form not told; spot equal to on-demand
               "a2-highgpu-1g,,,12,85,0.9,us-1,,0.3\n"   // host without its GPU
               ",A100,1,,,2.9,us-1,,1.0\n"               // GPU without its host
               "t4,T4,1,4,16,700.0,us-1,,0.2\n",         // on-demand not for sale
           &quality, "acme", known)
          .value();
  ASSERT_EQ(file.rows.size(), 5U);
  EXPECT_EQ(KeyOf(file.rows[0]), "acme:gpu-h100-sxm_8:on_demand@eu-1");
  EXPECT_EQ(file.rows[0].gpu, "H100-80GB-SXM");
  EXPECT_EQ(FormatExact(*PerGpuHour(file.rows[0])), "2.95");
  EXPECT_EQ(KeyOf(file.rows[1]), "acme:gpu-h100-sxm_8:spot@eu-1");
  EXPECT_EQ(FormatExact(*PerGpuHour(file.rows[1])), "1.25");
  EXPECT_EQ(file.rows[2].gpu, "A100-80GB-PCIe");
  EXPECT_EQ(file.rows[3].gpu, "H100");
  EXPECT_EQ(KeyOf(file.rows[4]), "acme:t4:spot@us-1");
  EXPECT_EQ(file.host_only, 1);
  EXPECT_EQ(file.gpu_only, 1);
  EXPECT_EQ(file.unavailable, 1);
  EXPECT_EQ(file.spot_not_offered, 1);
  EXPECT_EQ(file.form_not_stated, 1);
}

TEST(PriceFileTest, BindsColumnsByName) {
  DataQuality quality;
  const PriceFile file =
      Read("Region,SpotPrice,Price,AcceleratorCount,AcceleratorName,InstanceType\neu-1,,1.5484,1,L40S,l40s\n", &quality)
          .value();
  ASSERT_EQ(file.rows.size(), 1U);
  EXPECT_EQ(file.rows[0].gpu, "L40S-48GB");
  EXPECT_EQ(FormatExact(file.rows[0].per_hour), "1.5484");
}

// AWS lists each zone: spot prices differ between them, on-demand ones do not.
TEST(PriceFileTest, AKeyWhoseZonesHaveSeveralPricesGoesByItsZone) {
  const std::string header = "InstanceType,AcceleratorName,AcceleratorCount,Price,SpotPrice,Region,AvailabilityZone\n";
  DataQuality quality;
  const PriceFile file = Read(header +
                                  "p5,T4,8,8.0,2.0,us-1,us-1a\n"
                                  "p5,T4,8,8.0,3.0,us-1,us-1b\n"
                                  "p6,T4,8,8.0,2.0,us-1,us-1a\n"
                                  "p6,T4,8,8.0,2.0,us-1,us-1b\n"
                                  "p7,T4,8,8.0,,us-1,\n"
                                  "p7,T4,8,9.0,,us-1,\n"  // nothing tells them apart
                                  "p7,T4,8,7.0,,us-1,\n",
                              &quality)
                             .value();
  std::vector<std::string> offers;
  for (const CatalogueRow& row : file.rows) offers.push_back(KeyOf(row) + " " + FormatExact(row.per_hour));
  EXPECT_EQ(offers, (std::vector<std::string>{"acme:p5:on_demand@us-1 8.00", "acme:p5:spot@us-1a 2.00",
                                              "acme:p5:spot@us-1b 3.00", "acme:p6:on_demand@us-1 8.00",
                                              "acme:p6:spot@us-1 2.00", "acme:p7:on_demand@us-1 9.00"}));
  EXPECT_EQ(file.not_told_apart, 2);
}

TEST(PriceFileTest, WhatSkyPilotHasNoPriceForIsLeftOutAndCounted) {
  DataQuality quality;
  const PriceFile file = Read(
                             "InstanceType,AcceleratorName,AcceleratorCount,Price,Region\n"
                             "a,T4,1,1.5,us-1\n"
                             "b,T4,0.125,nan,us-1\n"
                             "c,T4,1,,us-1\n"
                             "d,T4,1,0.0,us-1\n"
                             "e,nan,,0.2,us-1\n",
                             &quality)
                             .value();
  ASSERT_EQ(file.rows.size(), 1U);
  EXPECT_EQ(KeyOf(file.rows[0]), "acme:a:on_demand@us-1");
  EXPECT_EQ(file.unavailable, 3);
  EXPECT_EQ(file.host_only, 1);
}

TEST(PriceFileTest, TwoPricesOfOneKeyAreAnError) {
  const std::string row = "acme,eu-1,a,T4-16GB,1,spot,";
  EXPECT_EQ(ErrorOf(std::string(kHeader) + row + "1,,\n" + row + "2,,\n"),
            "prices.csv:3: acme:a:spot@eu-1 has another price in line 2; keep one of the two");
  EXPECT_EQ(ErrorOf(std::string(kHeader) + row + "1,,\n" + row + "1,,\n"), "");
}

// A catalogue holds one offer a key, and knows no case.
TEST(PriceFileTest, TwoOffersOfOneKeyAreAnErrorWhateverSetsThemApart) {
  const std::string header(kHeader);
  const std::string row = header + "acme,eu-1,a,T4-16GB,8,spot,8,,\n";
  EXPECT_EQ(ErrorOf(row + "acme,eu-1,a,T4-16GB,4,spot,8,,\n"),
            "prices.csv:3: acme:a:spot@eu-1 has another gpu_count in line 2; keep one of the two");
  EXPECT_EQ(ErrorOf(row + "acme,eu-1,a,L4-24GB,8,spot,8,,\n"),
            "prices.csv:3: acme:a:spot@eu-1 has another gpu in line 2; keep one of the two");
  EXPECT_EQ(ErrorOf(row + "Acme,EU-1,A,T4-16GB,8,spot,16,,\n"),
            "prices.csv:3: Acme:A:spot@EU-1 has another price in line 2; keep one of the two");
  EXPECT_EQ(ErrorOf(row + "Acme,EU-1,A,t4-16gb,8,spot,8,,\n"), "");
}

TEST(PriceFileTest, OffersOfAForeignListThatDifferInTheirGpusAreToldApartTheSame) {
  const std::string header = "InstanceType,AcceleratorName,AcceleratorCount,Price,Region,AvailabilityZone\n";
  DataQuality quality;
  const PriceFile file = Read(header +
                                  "p5,T4,8,8.0,us-1,us-1a\n"
                                  "P5,T4,8,9.0,US-1,us-1b\n"  // a zone of the same key
                                  "p7,T4,8,8.0,us-1,\n"
                                  "p7,T4,2,4.0,us-1,\n"  // 2.00 a GPU-hour, not 1.00
                                  "p7,T4,4,4.0,us-1,\n",
                              &quality)
                             .value();
  std::vector<std::string> offers;
  for (const CatalogueRow& row : file.rows) {
    offers.push_back(KeyOf(row) + " " + FormatExact(PerGpuHour(row).value()));
  }
  EXPECT_EQ(offers, (std::vector<std::string>{"acme:p5:on_demand@us-1a 1.00", "acme:P5:on_demand@us-1b 1.125",
                                              "acme:p7:on_demand@us-1 2.00"}));
  EXPECT_EQ(file.not_told_apart, 2);
}

TEST(PriceFileTest, SaysWhichLineIsWrong) {
  const std::string row = std::string(kHeader) + "acme,eu-1,a,T4-16GB,1,spot,";
  EXPECT_EQ(ErrorOf(row + "-1,,\n"), "prices.csv:2: price: '-1' is not a price; leave out rows without a price");
  EXPECT_EQ(ErrorOf(row + "1e30,,\n"), "prices.csv:2: price: '1e30' is not a decimal number; write it like 2.49");
  EXPECT_EQ(ErrorOf(row + "NaN,,\n"), "prices.csv:2: price: 'NaN' is not a decimal number; write it like 2.49");
  EXPECT_EQ(ErrorOf(row + ",,\n"), "prices.csv:2: price: '' is not a number; write it like 2.49");
  EXPECT_EQ(ErrorOf(row + "1,yesterday,\n"),
            "prices.csv:2: as_of: 'yesterday' is not a date; write it like 2026-07-20");
  EXPECT_EQ(ErrorOf(row + "1,2026-07-2011,\n"),
            "prices.csv:2: as_of: '2026-07-2011' is not a date; write it like 2026-07-20");
  EXPECT_EQ(ErrorOf(row + "1,2026-07-20T08:00:00Z,\n"), "");
  EXPECT_EQ(ErrorOf("provider,region,instance,gpu,gpu_count,market,price,price\n"),
            "prices.csv:1: two columns are named 'price'; keep or rename one of them");
  EXPECT_EQ(ErrorOf("provider,region,instance,gpu,market,price\n"),
            "prices.csv:1: no column 'gpu_count' in the header; add it");
  EXPECT_EQ(ErrorOf(std::string(kHeader) + "acme,eu-1,a,T4-16GB,0,spot,1,,\n"),
            "prices.csv:2: gpu_count: '0' is not a number of GPUs; write it like 8");
  EXPECT_EQ(ErrorOf(std::string(kHeader) + "acme,eu-1,a,T4-16GB,10000000000,spot,1,,\n"),
            "prices.csv:2: gpu_count: '10000000000' is not a number of GPUs; write it like 8");
  EXPECT_EQ(ErrorOf(std::string(kHeader) + "acme,eu-1,a,T4-16GB,1,cheap,1,,\n"),
            "prices.csv:2: market: 'cheap' is not a market; write on_demand, spot or reserved");
  EXPECT_EQ(ErrorOf(std::string(kHeader) + "acme,,a,T4-16GB,1,spot,1,,\n"),
            "prices.csv:2: region: is empty; every offer needs it");
  EXPECT_EQ(ErrorOf(std::string(kHeader) + "acme,eu-1,a\x1b[31m,T4-16GB,1,spot,1,,\n"),
            "prices.csv:2: instance: has unprintable characters");
  EXPECT_EQ(ErrorOf(std::string(kSkyPilot) + "a,T4,1,4,16,2,r,,\nb,T4,1,4,16,-2,r,,\n"),
            "prices.csv:3: Price: '-2' is not a price; leave out rows without a price");
  EXPECT_EQ(ErrorOf("InstanceType,AcceleratorName,Price,Region\n"),
            "prices.csv:1: no column 'AcceleratorCount' in the header; add it");
  DataQuality quality;
  EXPECT_EQ(Read(std::string(kSkyPilot), &quality, "").error().kind, Error::Kind::kUsage);
}

}  // namespace

}  // namespace idleburn
