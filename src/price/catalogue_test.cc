#include "price/catalogue.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <set>
#include <sstream>

#include "places.h"
#include "telemetry/gpu_facts.h"
#include "text/csv.h"

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
  EXPECT_EQ(spot, 285U);
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

}  // namespace
}  // namespace idleburn
