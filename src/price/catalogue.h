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

// The price list: offers of providers, how they are read from files, and how a mistyped key is corrected.
//
// The list is data and not code, so a price changes without a change of the program. It holds prices of whole
// instances, because that is what a provider sells; PerGpuHour divides at the time of use. A list per GPU was rejected:
// it would round each price once more, and a reader could not find the amount on the provider's page.
//
// How an offer is sold. The names are part of every price key.
enum class Market : std::uint8_t { kOnDemand, kSpot, kReserved };
// The name in keys and files. It is part of the file format and never changes.
std::string_view Name(Market m);  // "on_demand"
// Reads such a name. Absent for any other text.
std::optional<Market> ParseMarket(std::string_view name);

// One offer: what a provider asks for a whole instance in one region and market, in USD.
struct CatalogueRow {
  std::string provider;
  std::string region;
  std::string instance;
  std::string gpu;                      // as GpuFacts::gpu; a name without its form ("H100") matches no device
  std::int64_t gpu_micros = 1'000'000;  // GPUs of the instance in millionths; some have a part of one
  Market market = Market::kOnDemand;
  Money per_hour;                // of the whole instance
  std::optional<Instant> as_of;  // absent: undated
  std::string source;
};

// The key of the row: "aws:p5.48xlarge:on_demand@us-east-1". --price takes it.
std::string KeyOf(const CatalogueRow& row);
// For people: "as of 2026-07-20", or "undated". A price without a date is never called stale, so this says that its age
// is unknown.
std::string AsOf(const std::optional<Instant>& date);
// The price of the instance divided by its GPUs. CPUs, memory and disks of the host stay inside, because nobody can
// rent the GPU without them (docs/catalogue.md, "The catalogue"). Fails if the amount exceeds what Money can hold.
Result<Money> PerGpuHour(const CatalogueRow& row);

// The price list: one row per provider, instance, market and region. Keys are compared without case. The shipped list
// is data that the build embeds; a user's file adds rows to it or replaces them.
class Catalogue {
 public:
  // The list that ships with the program, data/prices/catalogue.csv.
  static Catalogue BuiltIn();

  // Adds a row. A row of the same key is replaced.
  void Put(CatalogueRow row);
  // Null if there is no such row. The pointer is valid until the next Put or the end of the catalogue.
  [[nodiscard]] const CatalogueRow* Find(std::string_view key) const;
  // Any row of that instance, in any market and region. Null if there is none.
  [[nodiscard]] const CatalogueRow* FindInstance(std::string_view provider, std::string_view instance) const;
  // The key most similar to a mistyped one, by edit distance. Keys of the same instance come first; another key must
  // share at least a third. Empty if none does.
  [[nodiscard]] std::string Nearest(std::string_view key) const;
  // In order of key.
  [[nodiscard]] std::vector<const CatalogueRow*> Rows() const;

 private:
  std::map<std::string, CatalogueRow, std::less<>> rows_;
};

// What a SkyPilot catalogue does not say about itself.
struct PriceFileOptions {
  std::string provider;          // required for it
  std::optional<Instant> as_of;  // date of its prices; absent: undated
};

// The rows of a price file, and counts of what was left out and why.
struct PriceFile {
  std::vector<CatalogueRow> rows;
  std::int64_t host_only = 0;         // rows without an accelerator: a host priced apart from its GPUs
  std::int64_t gpu_only = 0;          // rows without an instance: a GPU without the host that it needs
  std::int64_t unavailable = 0;       // no price, or the code 700.0: not for sale, not $700
  std::int64_t spot_not_offered = 0;  // a spot price equal to on-demand
  std::int64_t not_told_apart = 0;    // several offers of one key: the most expensive is kept
  std::int64_t form_not_stated = 0;   // "H100" without SXM, PCIe or NVL: kept, and found by its key only
};

// Reads prices in either of two layouts, which the header tells apart:
//  - idleburn's own: provider,region,instance,gpu,gpu_count,market,price, and if known as_of and source. Two rows of
//    one key (without case) that differ in price, gpu_count or gpu are an error.
//  - SkyPilot's: InstanceType, AcceleratorName, AcceleratorCount, Price, Region, and if known SpotPrice and
//    AvailabilityZone, in any order. If the zones of a region have several prices, the key names the zone.
//
// GPU names become those of the catalogue: the name of the same instance in `known`, else the product that the alias
// means. A price must be a positive decimal up to 9.2 billion. Other prices and missing columns or cells are errors
// that name file and line. Prices with more than nine decimals are rounded half to even and counted in `quality`.
Result<PriceFile> ReadPrices(ByteSource& in, const PriceFileOptions& options, const Catalogue& known,
                             DataQuality& quality);

// Writes rows in idleburn's own layout, which ReadPrices reads back to the same rows. Prices are written exactly.
std::string WritePrices(std::span<const CatalogueRow* const> rows);

}  // namespace idleburn
