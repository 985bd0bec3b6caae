// Writes a FOCUS export for tools/bench_bill.sh: machines by the hour, as large as asked, with deviations that are
// known.
//   make_bill ROWS FILE       prints the sum of BilledCost in cents and the number of copies
#include <fmt/format.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>

namespace {

constexpr const char* kHeader =
    "AvailabilityZone,BilledCost,BillingAccountId,BillingAccountName,BillingAccountType,BillingCurrency,"
    "BillingPeriodEnd,BillingPeriodStart,ChargeCategory,ChargeClass,ChargeDescription,ChargeFrequency,ChargePeriodEnd,"
    "ChargePeriodStart,ConsumedQuantity,ConsumedUnit,ContractedCost,ContractedUnitPrice,EffectiveCost,InvoiceId,"
    "InvoiceIssuerName,ListCost,ListUnitPrice,PricingCategory,PricingQuantity,PricingUnit,ProviderName,PublisherName,"
    "RegionId,RegionName,ResourceId,ResourceName,ResourceType,ServiceCategory,ServiceName,ServiceSubcategory,SkuId,"
    "SkuMeter,SkuPriceDetails,SkuPriceId,SubAccountId,SubAccountName,SubAccountType,Tags\n";
constexpr std::int64_t kHours = 720;
constexpr std::int64_t kCopyEach = 100'000;  // every so many rows one is written twice

std::string Row(std::int64_t machine, std::int64_t hour) {
  const std::int64_t cents = 200 + machine % 700;
  const std::string money = fmt::format("{}.{:02}", cents / 100, cents % 100);
  const std::string list = fmt::format("{}.{:02}", 2 * cents / 100, 2 * cents % 100);
  const auto time = [](std::int64_t h) { return fmt::format("2026-09-{:02}T{:02}:00:00Z", 1 + h / 24, h % 24); };
  const std::string end = hour + 1 == kHours ? "2026-10-01T00:00:00Z" : time(hour + 1);
  return fmt::format(
      "xx-1a,{0},ba-1,Example,Payer,USD,2026-10-01T00:00:00Z,2026-09-01T00:00:00Z,Usage,,\"instance hour, 8 x H100\","
      "Usage-Based,{1},{2},1,Hours,{0},{0},{0},INV-1,Example Cloud,{3},{3},Standard,1,Hours,Example Cloud,Example "
      "Cloud,"
      "xx-1,Example,res/i-{4},i-{4},Virtual Machine,Compute,Example Compute,Virtual Machines,SKU-8,Instance Hours,"
      "\"{{\"\"GpuCount\"\": 8, \"\"x_GpuModel\"\": \"\"H100\"\"}}\",SKU-8-od,sa-{5},team {5},Project,"
      "\"{{\"\"team\"\": \"\"team-{5}\"\", \"\"job_id\"\": \"\"{6}\"\"}}\"\n",
      money, end, time(hour), list, machine, machine % 50, machine * 31 + hour / 24);
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 3) {
    fmt::print(stderr, "usage: make_bill ROWS FILE\n");
    return 2;
  }
  const std::int64_t rows = std::atoll(argv[1]);
  std::FILE* const out = std::fopen(argv[2], "wb");
  if (out == nullptr) {
    fmt::print(stderr, "make_bill: cannot write {}\n", argv[2]);
    return 1;
  }
  std::fputs(kHeader, out);
  const std::int64_t machines = (rows + kHours - 1) / kHours;
  std::int64_t written = 0;
  std::int64_t copies = 0;
  std::int64_t cents = 0;
  for (std::int64_t hour = 0; hour < kHours && written < rows; ++hour) {
    for (std::int64_t machine = 0; machine < machines && written < rows; ++machine) {
      const std::string row = Row(machine, hour);
      const bool twice = written > 0 && written % kCopyEach == 0;
      for (int i = 0; i < (twice ? 2 : 1); ++i) std::fwrite(row.data(), 1, row.size(), out);
      written += twice ? 2 : 1;
      copies += twice ? 1 : 0;
      cents += (200 + machine % 700) * (twice ? 2 : 1);
    }
  }
  std::fclose(out);
  fmt::print("{} rows, {} cents, {} copies\n", written, cents, copies);
}
