#include "price/find_rate.h"

#include <algorithm>
#include <array>
#include <numeric>
#include <optional>
#include <set>
#include <string_view>
#include <utility>

#include "base/money.h"
#include "os/input_file.h"
#include "price/resolve.h"
#include "text/time_zone.h"

// Opens the sources of prices and joins them into a RateBook. All input and output of prices is in this file:
// price/rate_book.h decides on values only, so its rules are tested without files.
//
// A command calls OpenRates before it reads its input. An error in a price file then costs no time, and a live run does
// not measure for hours and fail at the end.

namespace idleburn {

Result<PriceFile> OpenPrices(const std::string& path, const PriceFileOptions& options, const Catalogue& known,
                             DataQuality& quality) {
  const std::unique_ptr<ByteSource> in = TRY(OpenInput(path));
  return ReadPrices(*in, options, known, quality);
}

Result<Catalogue> LoadPrices(const std::string& file, DataQuality& quality) {
  Catalogue catalogue = Catalogue::BuiltIn();
  if (file.empty()) return catalogue;
  const PriceFile prices = TRY(OpenPrices(file, {}, catalogue, quality));
  for (const CatalogueRow& row : prices.rows) catalogue.Put(row);
  return catalogue;
}

std::string DayOrUndated(const std::optional<Instant>& as_of) { return as_of ? FormatDay(*as_of) : "undated"; }

Result<std::vector<Contract>> LoadContracts(const std::string& file) {
  if (file.empty()) return std::vector<Contract>();
  const std::unique_ptr<ByteSource> in = TRY(OpenInput(file));
  return ReadContracts(*in);
}

namespace {

// The origin that Settings reports for a value given on the command line.
constexpr std::string_view kPriceFlag = "--price";

// The prices of --price or the settings, each with its rate. Keys are looked up now, so a mistyped key is an error even
// if no GPU of the run would use it.
Result<std::vector<RateBook::Stated>> StatedRates(const Settings& settings, const RateBook& book) {
  std::vector<RateBook::Stated> stated;
  if (!settings.Has("price.rate")) return stated;
  const std::vector<StatedPrice> prices = TRY(ParseStatedPrices(settings.Text("price.rate")));
  for (const StatedPrice& price : prices) {
    Rate rate = TRY(RateOfGiven(settings, book.catalogue, price, book.now));
    stated.push_back({price.gpus, std::move(rate), price.text});
  }
  return stated;
}

}  // namespace

// A number has no currency of its own, so it takes that of the settings. A catalogue key is in USD, whatever the
// settings say.
Result<Rate> RateOfGiven(const Settings& settings, const Catalogue& catalogue, const StatedPrice& price, Instant now) {
  Result<Rate> rate = RateOfPrice(catalogue, price, now);
  if (rate && rate->kind == RateKind::kGiven) rate->currency = settings.Text("price.currency");
  return rate;
}

bool PriceGiven(const Settings& settings) {
  constexpr std::array<std::pair<std::string_view, std::string_view>, 4> kFlags = {{{"price.rate", kPriceFlag},
                                                                                    {"price.contracts", "--contracts"},
                                                                                    {"price.owned", "--owned"},
                                                                                    {"price.catalogue", "--prices"}}};
  // Only the flag counts, not a value from a file: a kept run has its own price, which a file of settings must not
  // replace.
  return std::any_of(kFlags.begin(), kFlags.end(),
                     [&](const auto& flag) { return settings.Get(flag.first).origin == flag.second; });
}

// `must_apply` is set only for a price of this command line. A settings file serves many runs, and its prices need not
// fit each of them. A live run is no error either: its GPUs were not known when the price was typed.
RateBook Prices::For(const RateQuestion& question) const {
  RateBook asked = book;
  asked.must_apply = stated_by_flag && !question.live;
  asked.instance = question.instance;
  asked.region = question.region;
  asked.market = question.market;
  asked.host = question.host;
  return asked;
}

Result<Prices> OpenRates(const Settings& settings, Instant now) {
  Prices prices;
  RateBook& book = prices.book;
  book.catalogue = TRY(LoadPrices(settings.Text("price.catalogue"), prices.doubts));
  book.now = now;
  book.stated = TRY(StatedRates(settings, book));
  prices.stated_by_flag = settings.Get("price.rate").origin == kPriceFlag;
  book.contracts = TRY(LoadContracts(settings.Text("price.contracts")));
  if (settings.Has("price.owned")) {
    book.owned = TRY(RateOfOwned(settings.Text("price.owned")));
    book.owned->currency = settings.Text("price.currency");
  }
  return prices;
}

Result<std::vector<Rate>> RatesOfModels(const RateBook& book, std::span<const std::string> gpu_names) {
  DeviceTable devices;
  std::vector<DeviceId> gpus;
  for (const std::string& name : gpu_names) {
    // RatesOf works on devices, so the models get made-up ones.
    DeviceKey key;
    key.index = static_cast<int>(gpus.size());
    key.host = book.host;
    key.name = name;
    gpus.push_back(devices.Enter(key));
  }
  const RateCard card = TRY(RatesOf(book, devices, gpus, RunSpan{book.now, book.now}));
  if (gpus.empty()) return card.rates();
  std::vector<Rate> rates;
  for (const DeviceId gpu : gpus) rates.push_back(card.Of(gpu));
  return rates;
}

Result<Rate> RateOfModels(const RateBook& book, std::span<const std::string> gpu_names) {
  const std::vector<Rate> rates = TRY(RatesOfModels(book, gpu_names));
  std::vector<Rate> each;
  for (const Rate& rate : rates) {
    if (std::find(each.begin(), each.end(), rate) == each.end()) each.push_back(rate);
  }
  return OneRate(each);
}

// Stated prices for some GPUs, and contracts, depend on the GPU. Owned hardware has one rate for all, unless one of
// these goes before it.
std::optional<Rate> RateOfAny(const RateBook& book) {
  if (book.stated.size() == 1 && book.stated.front().gpus.all()) return book.stated.front().rate;
  if (book.stated.empty() && book.contracts.empty()) return book.owned;
  return std::nullopt;
}

std::vector<DeviceId> AllOf(const DeviceTable& devices) {
  std::vector<DeviceId> all(devices.size());
  std::iota(all.begin(), all.end(), DeviceId{0});
  return all;
}

// An unpriced GPU has candidates instead of a price. Each candidate counts once, even if several GPUs share it: ten
// GPUs with one old row are one old price.
void CountStale(const RateCard& card, Instant now, DataQuality& quality) {
  std::set<std::string> candidates;  // several GPUs may share one
  for (const Rate& rate : card.rates()) {
    if (!rate.stale) continue;
    if (rate.per_gpu_hour) quality.Count(QualityId::kPriceStale);
    for (const Rate::Candidate& c : rate.candidates) {
      if (rate.per_gpu_hour || !IsStale(c.as_of, now) || !candidates.insert(c.key).second) continue;
      quality.Count(QualityId::kPriceStale);
    }
  }
}

RateQuestion QuestionOf(const RunFacts& facts) {
  RateQuestion question;
  question.instance = FactIn(facts, kInstanceFact);
  question.region = FactIn(facts, kRegionFact);
  question.market = FactIn(facts, kMarketFact);
  question.host = FactIn(facts, "host");
  return question;
}

}  // namespace idleburn
