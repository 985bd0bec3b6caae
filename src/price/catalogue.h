#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/byte_source.h"
#include "base/money.h"
#include "base/time.h"
#include "telemetry/data_quality.h"

namespace idleburn {

enum class Market : std::uint8_t { kOnDemand, kSpot, kReserved };
std::string_view Name(Market m);  // "on_demand"
std::optional<Market> ParseMarket(std::string_view name);

// One offer: what a provider asks for a whole instance in one region and market, in USD.
struct CatalogueRow {
  std::string provider;
  std::string region;
  std::string instance;
  std::string gpu;                      // of GpuFacts::gpu; a name without its form ("H100") matches no device
  std::int64_t gpu_micros = 1'000'000;  // GPUs of the instance in millionths: there are instances of a part
  Market market = Market::kOnDemand;
  Money per_hour;                // the whole instance
  std::optional<Instant> as_of;  // absent: undated
  std::string source;
};

// "aws:p5.48xlarge:on_demand@us-east-1", as --price takes it.
std::string KeyOf(const CatalogueRow& row);
// "as of 2026-07-20", or "undated".
std::string AsOf(const std::optional<Instant>& date);
// Instance price / GPU count: CPUs, memory and disks of the host stay inside.
Result<Money> PerGpuHour(const CatalogueRow& row);

// Price rows, one per provider, instance, market and region. Keys are looked up without regard to case.
class Catalogue {
 public:
  // The list that ships with the program (data/prices/catalogue.csv).
  static Catalogue BuiltIn();

  // Enters a row; it replaces a row of the same key.
  void Put(CatalogueRow row);
  // Null if there is no such row. The pointer is valid until the next Put.
  [[nodiscard]] const CatalogueRow* Find(std::string_view key) const;
  // Any row of that instance, in whatever market and region; null if there is none.
  [[nodiscard]] const CatalogueRow* FindInstance(std::string_view provider, std::string_view instance) const;
  // The key most like `key` by edit distance: of the same instance, else if it shares at least a third with it; empty
  // if there is none.
  [[nodiscard]] std::string Nearest(std::string_view key) const;
  // In order of key.
  [[nodiscard]] std::vector<const CatalogueRow*> Rows() const;

 private:
  std::map<std::string, CatalogueRow, std::less<>> rows_;
};

// What a SkyPilot catalogue does not say of itself.
struct PriceFileOptions {
  std::string provider;          // required for it
  std::optional<Instant> as_of;  // of the file's prices; absent: undated
};

// The rows of a price file, and what was left out of it and why.
struct PriceFile {
  std::vector<CatalogueRow> rows;
  std::int64_t host_only = 0;         // rows without an accelerator: a host that is priced apart from its GPUs
  std::int64_t gpu_only = 0;          // the other half: a GPU without the host that it needs
  std::int64_t unavailable = 0;       // no price, or the code 700.0: not for sale, not $700
  std::int64_t spot_not_offered = 0;  // a spot price equal to on-demand is no offer
  std::int64_t not_told_apart = 0;    // several offers of one key: the dearest is kept
  std::int64_t form_not_stated = 0;   // "H100" without SXM, PCIe or NVL: reached by its key only
};

// Reads prices in either layout, told by the header:
// - our own: provider,region,instance,gpu,gpu_count,market,price,as_of,source (as_of and source may be missing); two
//   rows of one key, whatever its case, that differ in price, gpu_count or gpu are an error;
// - a SkyPilot catalogue: InstanceType, AcceleratorName, AcceleratorCount, Price, Region, and SpotPrice and
//   AvailabilityZone if it has them, in any order. A key whose zones have several prices goes by its zone.
// A GPU name is made that of the catalogue: from the same instance in `known`, else by its aliases. A price that is
// not a positive decimal up to 9.2 billion, a missing column or cell is an error that names file and line. Prices
// with more than nine decimals are rounded half to even and counted in `quality`.
Result<PriceFile> ReadPrices(ByteSource& in, const PriceFileOptions& options, const Catalogue& known,
                             DataQuality& quality);

// Our own layout, readable by ReadPrices.
std::string WritePrices(std::span<const CatalogueRow* const> rows);

}  // namespace idleburn
