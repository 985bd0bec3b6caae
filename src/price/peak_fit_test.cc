#include "price/peak_fit.h"

#include <gtest/gtest.h>

#include "price/resolve.h"
#include "text/time_zone.h"

namespace idleburn {
namespace {

constexpr std::int64_t kGigabyte = 1'000'000'000;

class PeakFitTest : public ::testing::Test {
 protected:
  void Offer(const std::string& gpu, std::int64_t gpu_micros, std::int64_t cents, Market market = Market::kOnDemand) {
    CatalogueRow row;
    row.provider = "acme";
    row.region = "eu-1";
    row.instance = gpu + "-" + std::to_string(gpu_micros);
    row.gpu = gpu;
    row.gpu_micros = gpu_micros;
    row.market = market;
    row.per_hour = Money::Cents(cents);
    row.as_of = ParseRfc3339("2026-07-20T00:00:00Z").value();
    catalogue_.Put(row);
  }
  void Gpu(const std::string& name, std::int64_t peak_bytes) {
    DeviceKey key;
    key.index = static_cast<int>(devices_.size());
    key.name = name;
    DeviceResult result;
    result.device = devices_.Enter(key);
    result.totals.range[Slot(Signal::kMemoryUsed)].peak = peak_bytes;
    run_.devices.push_back(result);
  }
  [[nodiscard]] std::vector<PeakFit> Fits(std::optional<Money> price) const {
    Rate rate;
    rate.per_gpu_hour = price;
    return PeakFits(run_, devices_, RateCard(rate), catalogue_);
  }
  Catalogue catalogue_;
  DeviceTable devices_;
  RunResult run_;
};

constexpr const char* kH100 = "NVIDIA H100 80GB HBM3";

// 36.36 GB and a tenth are 40 GB; one byte more is not.
TEST_F(PeakFitTest, TheLargestPeakWithHeadroomDecides) {
  Offer("A100-40GB-SXM", 8'000'000, 1600);
  Offer("T4-16GB", 1'000'000, 50);
  Gpu(kH100, 12 * kGigabyte);
  Gpu(kH100, 36'363'636'363);
  const std::vector<PeakFit> fits = Fits(Money::Cents(300));
  ASSERT_EQ(fits.size(), 1U);
  ASSERT_TRUE(fits[0].cheapest);
  EXPECT_EQ(fits[0].cheapest->gpu, "A100-40GB-SXM");
  EXPECT_EQ(fits[0].cheapest->per_gpu_hour, Money::Cents(200));
  EXPECT_EQ(fits[0].cheapest->key, "acme:A100-40GB-SXM-8000000:on_demand@eu-1");
  EXPECT_EQ(fits[0].cheapest->as_of, ParseRfc3339("2026-07-20T00:00:00Z").value());
  Gpu(kH100, 36'363'636'364);
  EXPECT_EQ(Fits(Money::Cents(300))[0].reason, "none_fits");
}

TEST_F(PeakFitTest, OnlyWholeGpusOfTheSameVendorThatCostLessOnDemand) {
  Offer("L4-24GB", 1'000'000, 200);                // not less
  Offer("A10-24GB", 500'000, 20);                  // half a GPU has half its memory
  Offer("T4-16GB", 1'000'000, 10, Market::kSpot);  // may be taken away
  Offer("MI300X-192GB", 1'000'000, 100);           // other code
  Offer("H100-80GB-SXM", 1'000'000, 50);           // the same GPU elsewhere is no other GPU
  Gpu(kH100, 8 * kGigabyte);
  EXPECT_EQ(Fits(Money::Cents(200))[0].reason, "none_fits");
  Offer("V100-16GB-SXM", 1'000'000, 150);
  Offer("L40S-48GB", 1'000'000, 120);
  const PeakFit fit = Fits(Money::Cents(200))[0];
  EXPECT_EQ(fit.cheapest->gpu, "L40S-48GB");
  EXPECT_EQ(fit.others, 1U);
}

TEST_F(PeakFitTest, WithoutAPriceOrInAnotherCurrencyNothingIsCheaper) {
  Offer("T4-16GB", 1'000'000, 10);
  Gpu(kH100, kGigabyte);
  EXPECT_EQ(Fits(std::nullopt)[0].reason, "no_price");
  Rate euros;
  euros.per_gpu_hour = Money::Cents(100);
  euros.currency = "EUR";
  EXPECT_EQ(PeakFits(run_, devices_, RateCard(euros), catalogue_)[0].reason, "other_currency");
  Rate range;
  range.low = Money::Cents(100);
  EXPECT_TRUE(PeakFits(run_, devices_, RateCard(range), catalogue_)[0].cheapest);
}

}  // namespace
}  // namespace idleburn
