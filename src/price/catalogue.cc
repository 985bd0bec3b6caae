#include "price/catalogue.h"

#include <algorithm>
#include <array>
#include <map>
#include <set>
#include <string_view>
#include <tuple>
#include <utility>

#include "base/int128.h"
#include "base/result.h"
#include "telemetry/gpu_facts.h"
#include "text/command_line.h"
#include "text/csv.h"
#include "text/line_reader.h"
#include "text/number.h"
#include "text/strings.h"
#include "text/time_zone.h"

namespace idleburn {

// Prices as files and as a searchable list. The shipped list and a user's file take the same way through ReadPrices, so
// a shipped row that breaks a rule fails at its first use.
//
// Readers refuse a doubtful price instead of repairing it. A wrong price changes every dollar of a report, and nobody
// would look for it in the price file. What is left out on purpose (hosts without a GPU, GPUs without a host) is
// counted, so that `prices import` can say so.

namespace embedded {
// The text of data/prices/catalogue.csv. The build generates this definition.
extern const std::string_view catalogue_csv;
}  // namespace embedded

namespace {

// By Market.
constexpr std::array<std::string_view, 3> kMarketNames = {"on_demand", "spot", "reserved"};

// "aws:p5.48xlarge" of the key "aws:p5.48xlarge:on_demand@us-east-1".
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
  // The file is a part of the program, so a fault in it is a programmer's mistake.
  CHECK(file);  // part of the program
  Catalogue catalogue;
  for (CatalogueRow& row : file->rows) catalogue.Put(std::move(row));
  return catalogue;
}

void Catalogue::Put(CatalogueRow row) {
  // Keys are compared without case: consoles and tools of one provider spell regions and instances differently.
  std::string key = Lower(KeyOf(row));
  rows_.insert_or_assign(std::move(key), std::move(row));
}

const CatalogueRow* Catalogue::Find(std::string_view key) const {
  const auto found = rows_.find(Lower(key));
  return found == rows_.end() ? nullptr : &found->second;
}

const CatalogueRow* Catalogue::FindInstance(std::string_view provider, std::string_view instance) const {
  // The keys of one instance stand together in the map, because market and region come last in a key. The ":" at the
  // end keeps "p5.48xlarge" from finding "p5.48xlarge-x".
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
    // A key of another instance is farther away than any key of the same one.
    const std::pair distance(InstanceOf(candidate) != instance, EditDistance(wanted, candidate));
    // A key of the same instance is always a good proposal. Of any other key at least a third of the characters must
    // agree: a proposal that has nothing in common with the text confuses more than none.
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

namespace {

// Columns that each layout must have. A header with InstanceType or AcceleratorName is SkyPilot's.
constexpr std::array<std::string_view, 7> kOwnColumns = {"provider",  "region", "instance", "gpu",
                                                         "gpu_count", "market", "price"};
constexpr std::array<std::string_view, 5> kSkyPilotColumns = {"InstanceType", "AcceleratorName", "AcceleratorCount",
                                                              "Price", "Region"};
// SkyPilot's code for "not for sale": a price of 700.0.
constexpr Money kUnavailable = Money::Nano(700'000'000'000);

// The price of a cell. It must be above 0: a list that says 0 means that there is no offer, and a free GPU would make
// all waste free. Digits beyond a billionth are rounded and counted, so the report can say that a price is not exact.
Result<Money> ReadPrice(const CsvTable& table, std::string_view column, DataQuality& quality) {
  bool rounded = false;
  const Result<Money> price = Money::ParseRounding(table.Cell(column), &rounded);
  if (!price) return Fail(table.Where() + ": " + std::string(column) + ": " + price.error().message);
  if (*price <= Money()) {
    return table.Bad(column, "is not a price; leave out rows without a price");
  }
  if (rounded) quality.Count(QualityId::kPriceRounded, {&table.name(), table.line()});
  return price;
}

// GPUs of the instance in millionths, because some instances have a part of a GPU (a sixth of an A10). The upper bound
// finds a column that holds something else, such as a price in nano-units.
Result<std::int64_t> ReadCount(const CsvTable& table, std::string_view column) {
  const ScaledNumber count = ParseScaled(table.Cell(column), 6);
  constexpr std::int64_t kMost = 1'000'000'000'000;  // a million GPUs
  if (count.fault != NumberFault::kNone || count.value <= 0 || count.value > kMost) {
    return table.Bad(column, "is not a number of GPUs; write it like 8");
  }
  return count.value;
}

// The day of a price. An empty cell is undated; a cell that cannot be read is an error, because an undated price is
// never stale.
Result<std::optional<Instant>> ReadDate(const CsvTable& table) {
  const std::string_view cell = table.Cell("as_of");
  if (cell.empty()) return std::optional<Instant>();
  const Result<Instant> date = ParseDayOrTime(cell);
  if (!date) return table.Bad("as_of", "is not a date; write it like 2026-07-20");
  return std::optional<Instant>(*date);
}

// A name may come from a flag, or from a column with another name, so there may be no cell to quote.
tl::unexpected<Error> BadName(const CsvTable& table, std::string_view part, std::string_view why) {
  return Fail(table.Where() + ": " + std::string(part) + ": " + std::string(why));
}

// The parts of a key must not contain the characters that separate them, nor characters that act on a terminal.
Result<void> CheckNames(const CsvTable& table, const CatalogueRow& row) {
  const std::array<std::string_view, 4> cells = {row.provider, row.region, row.instance, row.gpu};
  for (std::size_t i = 0; i < cells.size(); ++i) {
    if (cells[i].empty()) return BadName(table, kOwnColumns[i], "is empty; every offer needs it");
    if (cells[i].find('@') != std::string_view::npos) return BadName(table, kOwnColumns[i], "must not contain @");
    if (Printable(cells[i]) != cells[i]) return BadName(table, kOwnColumns[i], "has unprintable characters");
  }
  if (row.provider.find(':') != std::string::npos) return BadName(table, kOwnColumns[0], "must not contain :");
  if (row.instance.find(':') != std::string::npos) return BadName(table, kOwnColumns[2], "must not contain :");
  return {};
}

// What a key sells. Two rows of one key must agree on it. Date and source may differ: they do not change a bill.
auto OfferOf(const CatalogueRow& row) { return std::tuple(row.per_hour, row.gpu_micros, Lower(row.gpu)); }

// Whether `a` costs more per GPU-hour. Compares by multiplying crosswise: a division would round, and prices that
// differ by a billionth would look equal.
bool IsDearer(const CatalogueRow& a, const CatalogueRow& b) {
  return Int128{a.per_hour.nano()} * b.gpu_micros > Int128{b.per_hour.nano()} * a.gpu_micros;
}

// Reads idleburn's own layout. A repeated row is dropped; a contradicting one is an error, because nobody could say
// which price is right.
Result<PriceFile> ReadOwn(CsvTable& table, DataQuality& quality) {
  PriceFile file;
  std::map<std::string, std::pair<std::size_t, std::int64_t>> seen;  // row and line of each key, as the catalogue is
  while (true) {
    const bool more = TRY(table.Next());
    if (!more) return file;
    CatalogueRow row;
    row.provider = table.Cell("provider");
    row.region = table.Cell("region");
    row.instance = table.Cell("instance");
    row.gpu = table.Cell("gpu");
    row.source = table.Cell("source");
    TRY(CheckNames(table, row));
    const std::optional<Market> market = ParseMarket(table.Cell("market"));
    if (!market) return table.Bad("market", "is not a market; write on_demand, spot or reserved");
    row.market = *market;
    row.gpu_micros = TRY(ReadCount(table, "gpu_count"));
    const Money price = TRY(ReadPrice(table, "price", quality));
    row.per_hour = price;
    row.as_of = TRY(ReadDate(table));
    const auto [at, fresh] = seen.emplace(Lower(KeyOf(row)), std::pair(file.rows.size(), table.line()));
    const auto [place, line] = at->second;
    if (fresh) {
      file.rows.push_back(std::move(row));
    } else if (const CatalogueRow& known = file.rows[place]; OfferOf(known) != OfferOf(row)) {
      const std::string_view other = known.per_hour != row.per_hour       ? "price"
                                     : known.gpu_micros != row.gpu_micros ? "gpu_count"
                                                                          : "gpu";
      return Fail(table.Where() + ": " + KeyOf(row) + " has another " + std::string(other) + " in line " +
                  std::to_string(line) + "; keep one of the two");
    }
  }
}

// The product that SkyPilot's accelerator name means. SkyPilot gives SXM, PCIe and NVL forms one name ("H100"), but
// they have different prices. So the form is taken from the same instance in `known`, or from the name of the instance
// ("...-sxm-80gb"). Empty if neither tells it.
std::string ProductOf(const CatalogueRow& row, const Catalogue& known) {
  if (const CatalogueRow* same = known.FindInstance(row.provider, row.instance)) return same->gpu;
  for (const std::string_view form : {"sxm", "pcie", "nvl"}) {
    if (!Mentions(row.instance, form)) continue;
    if (const auto facts = FactsFor(row.gpu + "-" + std::string(form))) return facts->gpu;
  }
  const auto facts = FactsFor(row.gpu);
  return facts ? facts->gpu : std::string();
}

// Whether a cell holds no value: blank, "nan" (as pandas writes it), or 0 in any spelling ("0.0").
bool IsMissing(std::string_view cell) {
  const ScaledNumber number = ParseScaled(cell, 9);
  return cell.empty() || EqualsIgnoreCase(cell, "nan") || (number.fault == NumberFault::kNone && number.value == 0);
}

// The zone of a row. Empty if it cannot be part of a key.
std::string ZoneOf(const CsvTable& table) {
  const std::string zone(table.Cell("AvailabilityZone"));
  return zone.find('@') == std::string::npos && Printable(zone) == zone ? zone : std::string();
}

// One line gives up to two rows: on demand and spot. A spot price that equals the on-demand price is no offer.
Result<void> AddSkyPilotRow(const CsvTable& table, CatalogueRow row, DataQuality& quality, PriceFile* file) {
  std::optional<Money> on_demand;
  if (IsMissing(table.Cell("Price")) && IsMissing(table.Cell("SpotPrice"))) ++file->unavailable;
  for (const auto& [column, market] : {std::pair<std::string_view, Market>{"Price", Market::kOnDemand},
                                       std::pair<std::string_view, Market>{"SpotPrice", Market::kSpot}}) {
    if (IsMissing(table.Cell(column))) continue;
    const Money price = TRY(ReadPrice(table, column, quality));
    if (price == kUnavailable) {
      ++file->unavailable;
      continue;
    }
    if (market == Market::kSpot && on_demand == price) {
      ++file->spot_not_offered;
      continue;
    }
    if (market == Market::kOnDemand) on_demand = price;
    row.market = market;
    row.per_hour = price;
    file->rows.push_back(row);
  }
  return {};
}

// Makes keys unique. The zones of a region share one key. If their prices differ, as spot prices do, the key of each
// names its zone. If they are equal, one row is enough. If nothing tells two offers apart, the dearer one is kept: a
// bill that is too high is noticed, and a saving is not overstated.
void TellZonesApart(const std::vector<std::string>& zones, PriceFile* file) {
  std::map<std::string, std::set<decltype(OfferOf({}))>> offers;
  for (const CatalogueRow& row : file->rows) offers[Lower(KeyOf(row))].insert(OfferOf(row));
  std::vector<CatalogueRow> kept;
  std::map<std::string, std::size_t> places;  // in `kept`, by key
  for (std::size_t i = 0; i < file->rows.size(); ++i) {
    CatalogueRow& row = file->rows[i];
    if (offers[Lower(KeyOf(row))].size() > 1 && !zones[i].empty()) row.region = zones[i];
    const auto [at, fresh] = places.emplace(Lower(KeyOf(row)), kept.size());
    if (fresh) {
      kept.push_back(std::move(row));
    } else if (CatalogueRow& known = kept[at->second]; OfferOf(known) != OfferOf(row)) {
      ++file->not_told_apart;
      if (IsDearer(row, known)) known = std::move(row);
    }
  }
  file->rows = std::move(kept);
}

// Reads a SkyPilot catalogue. Rows of hosts without GPUs and of GPUs without hosts are counted and left out: each is
// only a part of a price.
Result<PriceFile> ReadSkyPilot(CsvTable& table, const PriceFileOptions& options, const Catalogue& known,
                               DataQuality& quality) {
  if (options.provider.empty()) {
    return FailUsage(table.name() + ": a SkyPilot catalogue does not name its provider; give it: idleburn " +
                     "prices import " + table.name() + " --provider NAME -o prices.csv");
  }
  PriceFile file;
  std::vector<std::string> zones;  // of the rows of `file`
  while (true) {
    const bool more = TRY(table.Next());
    if (!more) break;
    if (IsMissing(table.Cell("AcceleratorName"))) {
      ++file.host_only;
      continue;
    }
    CatalogueRow row;
    row.provider = options.provider;
    row.region = table.Cell("Region");
    row.instance = table.Cell("InstanceType");
    row.gpu = table.Cell("AcceleratorName");
    row.as_of = options.as_of;
    row.source = table.name();
    if (row.instance.empty()) {
      ++file.gpu_only;
      continue;
    }
    TRY(CheckNames(table, row));
    row.gpu_micros = TRY(ReadCount(table, "AcceleratorCount"));
    const std::string product = ProductOf(row, known);
    if (product.empty()) {
      ++file.form_not_stated;
    } else {
      row.gpu = product;
    }
    TRY(AddSkyPilotRow(table, std::move(row), quality, &file));
    zones.resize(file.rows.size(), ZoneOf(table));
  }
  TellZonesApart(zones, &file);
  return file;
}

}  // namespace

Result<PriceFile> ReadPrices(ByteSource& in, const PriceFileOptions& options, const Catalogue& known,
                             DataQuality& quality) {
  CsvTable table(in);
  TRY(table.ReadHeader());
  const bool skypilot = table.Has("AcceleratorName") || table.Has("InstanceType");
  TRY(skypilot ? table.Require(kSkyPilotColumns) : table.Require(kOwnColumns));
  return skypilot ? ReadSkyPilot(table, options, known, quality) : ReadOwn(table, quality);
}

std::string WritePrices(std::span<const CatalogueRow* const> rows) {
  std::string text = "provider,region,instance,gpu,gpu_count,market,price,as_of,source\n";
  for (const CatalogueRow* row : rows) {
    for (const std::string_view cell : {std::string_view(row->provider), std::string_view(row->region),
                                        std::string_view(row->instance), std::string_view(row->gpu)}) {
      text += CsvCell(cell) + ",";
    }
    text += FormatExact(Money::Nano(row->gpu_micros * 1000), 0) + "," + std::string(Name(row->market)) + ",";
    text += FormatExact(row->per_hour, 0) + "," + (row->as_of ? FormatDay(*row->as_of) : "") + ",";
    text += CsvCell(row->source) + "\n";
  }
  return text;
}

}  // namespace idleburn
