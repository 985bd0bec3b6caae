#include "price/stated_price.h"

#include <gtest/gtest.h>

namespace idleburn {

namespace {

constexpr GpuIdentity kA100{"GPU-5f3ad1c2-0000-1111-2222-333344445555", "node03.example.org", "NVIDIA A100-SXM4-80GB"};
constexpr GpuIdentity kA10{"", "10.0.0.3:9400", "NVIDIA A10"};

int Closeness(const char* text, const GpuIdentity& gpu) { return GpuSelector(text).Closeness(gpu); }

TEST(GpuSelectorTest, NamesByUuidHostModelOrAll) {
  EXPECT_GT(Closeness("gpu-5F3A", kA100), Closeness("NODE03", kA100));
  EXPECT_GT(Closeness("node03", kA100), Closeness("A100 80GB", kA100));
  EXPECT_GT(Closeness("A100 80GB", kA100), Closeness("a100", kA100));
  EXPECT_GT(Closeness("a100", kA100), Closeness("all", kA100));
  EXPECT_GT(Closeness("", kA100), 0);
  EXPECT_EQ(Closeness("node03.example.org", kA100), Closeness("node03", kA100));
  EXPECT_GT(Closeness("10.0.0.3", kA10), Closeness("A10", kA10));
}

TEST(GpuSelectorTest, AWordIsNeverAPartOfAWord) {
  EXPECT_EQ(Closeness("A10", kA100), 0);
  EXPECT_EQ(Closeness("A100", kA10), 0);
  EXPECT_EQ(Closeness("node0", kA100), 0);
  EXPECT_EQ(Closeness("10", kA10), 0);
  EXPECT_EQ(Closeness("10.0.0", kA10), 0);
  EXPECT_EQ(Closeness("GPU-5f3b", kA100), 0);
  EXPECT_EQ(Closeness("GPU-", kA100), 0);
  EXPECT_EQ(Closeness("A100 40GB", kA100), 0);
  EXPECT_EQ(Closeness("-", kA100), 0);
}

TEST(GpuSelectorTest, TheCataloguesNameOfAModelIsOneToo) {
  EXPECT_GT(Closeness("A100-80GB-SXM", kA100), 1);
  EXPECT_GT(Closeness("H100-80GB-SXM", {"", "", "NVIDIA H100 80GB HBM3"}), 1);
}

TEST(StatedPriceTest, ListsPricesBeforeTheirGpus) {
  const auto prices = ParseStatedPrices("8, node03 = 1.9,A100=1.29,H100=gcp:a3-highgpu-1g@us-central1").value();
  ASSERT_EQ(prices.size(), 4U);
  EXPECT_TRUE(prices[0].gpus.all());
  EXPECT_EQ(prices[0].price, "8");
  EXPECT_EQ(prices[1].gpus.text(), "node03");
  EXPECT_EQ(prices[1].price, "1.9");
  EXPECT_EQ(prices[2].text, "A100=1.29");
  EXPECT_EQ(prices[3].price, "gcp:a3-highgpu-1g@us-central1");
}

TEST(StatedPriceTest, RefusesWhatNamesNoPriceOrGpusTwice) {
  for (const char* text : {"", "8,", "=8", "A100=", ",8", "8,9", "8,all=9", "A100=1,a100=2"}) {
    const auto prices = ParseStatedPrices(text);
    ASSERT_FALSE(prices) << text;
    EXPECT_EQ(prices.error().kind, Error::Kind::kUsage) << text;
    EXPECT_EQ(prices.error().message.find("--price: "), 0U) << text;
  }
  EXPECT_EQ(
      ParseStatedPrices("2,50").error().message,
      "--price: '2,50' is two prices for all GPUs, because a comma separates prices; write a decimal point, 2.50");
  EXPECT_EQ(ParseStatedPrices("1,000").error().message,
            "--price: '1,000' is two prices for all GPUs, because a comma separates prices; write a decimal point, "
            "1.000, or no comma in thousands, 1000");
}

}  // namespace

}  // namespace idleburn
