#include "price/catalogue.h"

#include <algorithm>
#include <array>
#include <utility>

#include "base/check.h"
#include "price/price_file.h"
#include "text/line_reader.h"
#include "text/strings.h"
#include "text/suggestion.h"
#include "text/time_zone.h"

namespace idleburn {
namespace embedded {
extern const std::string_view catalogue_csv;
}  // namespace embedded

namespace {

constexpr std::array<std::string_view, 3> kMarketNames = {"on_demand", "spot", "reserved"};

// "aws:p5.48xlarge" of "aws:p5.48xlarge:on_demand@us-east-1".
std::string_view InstanceOf(std::string_view key) { return key.substr(0, key.rfind(':', key.find('@'))); }

}  // namespace

std::string_view Name(Market m) { return kMarketNames[static_cast<std::size_t>(m)]; }

std::optional<Market> ParseMarket(std::string_view name) {
  const auto found = std::find(kMarketNames.begin(), kMarketNames.end(), name);
  if (found == kMarketNames.end()) return std::nullopt;
  return static_cast<Market>(found - kMarketNames.begin());
}

std::string KeyOf(const CatalogueRow& row) {
  return row.provider + ":" + row.instance + ":" + std::string(Name(row.market)) + "@" + row.region;
}

std::string AsOf(const std::optional<Instant>& date) { return date ? "as of " + FormatDay(*date) : "undated"; }

Result<Money> PerGpuHour(const CatalogueRow& row) { return Scale(row.per_hour, 1'000'000, row.gpu_micros); }

Catalogue Catalogue::BuiltIn() {
  StringSource in{std::string(embedded::catalogue_csv), "data/prices/catalogue.csv"};
  DataQuality quality;
  Result<PriceFile> file = ReadPrices(in, {}, Catalogue(), quality);
  CHECK(file);  // part of the program
  Catalogue catalogue;
  for (CatalogueRow& row : file->rows) catalogue.Put(std::move(row));
  return catalogue;
}

void Catalogue::Put(CatalogueRow row) {
  std::string key = Lower(KeyOf(row));
  rows_.insert_or_assign(std::move(key), std::move(row));
}

const CatalogueRow* Catalogue::Find(std::string_view key) const {
  const auto found = rows_.find(Lower(key));
  return found == rows_.end() ? nullptr : &found->second;
}

const CatalogueRow* Catalogue::FindInstance(std::string_view provider, std::string_view instance) const {
  const std::string prefix = Lower(provider) + ":" + Lower(instance) + ":";
  const auto found = rows_.lower_bound(prefix);
  return found != rows_.end() && found->first.compare(0, prefix.size(), prefix) == 0 ? &found->second : nullptr;
}

std::string Catalogue::Nearest(std::string_view key) const {
  const std::string wanted = Lower(key);
  const std::string_view instance = InstanceOf(wanted);
  const CatalogueRow* best = nullptr;
  std::pair<bool, std::size_t> least;
  for (const auto& [candidate, row] : rows_) {
    const std::pair distance(InstanceOf(candidate) != instance, EditDistance(wanted, candidate));
    const bool alike = !distance.first || distance.second * 3 < candidate.size() * 2;
    if (alike && (best == nullptr || distance < least)) {
      best = &row;
      least = distance;
    }
  }
  return best == nullptr ? std::string() : KeyOf(*best);
}

std::vector<const CatalogueRow*> Catalogue::Rows() const {
  std::vector<const CatalogueRow*> rows;
  for (const auto& [key, row] : rows_) rows.push_back(&row);
  return rows;
}

}  // namespace idleburn
