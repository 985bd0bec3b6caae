#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/money.h"
#include "base/time.h"

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

}  // namespace idleburn
