#include "cli/find_rate.h"

#include <algorithm>
#include <array>
#include <cstdlib>
#include <numeric>
#include <optional>
#include <set>
#include <string_view>
#include <utility>

#include "base/billing.h"
#include "cli/load_prices.h"
#include "cli/say.h"
#include "measure/cloud_metadata.h"
#include "price/resolve.h"

namespace idleburn {
namespace {

constexpr const char* kInstance = "instance";
constexpr const char* kRegion = "instance.region";
constexpr const char* kMarket = "instance.market";
constexpr std::string_view kPriceFlag = "--price";

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

// The currency is that of the numbers that the user gives; those of the catalogue and of contracts have their own.
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
  return std::any_of(kFlags.begin(), kFlags.end(),
                     [&](const auto& flag) { return settings.Get(flag.first).origin == flag.second; });
}

Result<RateBook> OpenRates(const Settings& settings, const RateQuestion& question, DataQuality& quality) {
  RateBook book;
  book.catalogue = TRY(LoadPrices(settings.Text("price.catalogue"), quality));
  book.now = question.now;
  book.stated = TRY(StatedRates(settings, book));
  book.must_apply = !question.live && settings.Get("price.rate").origin == kPriceFlag;
  book.contracts = TRY(LoadContracts(settings.Text("price.contracts")));
  if (settings.Has("price.owned")) {
    book.owned = TRY(RateOfOwned(settings.Text("price.owned")));
    book.owned->currency = settings.Text("price.currency");
  }
  book.instance = question.instance;
  book.region = question.region;
  book.market = question.market;
  book.host = question.host;
  return book;
}

Result<std::vector<Rate>> RatesOfModels(const RateBook& book, std::span<const std::string> gpu_names) {
  DeviceTable devices;
  std::vector<DeviceId> gpus;
  for (const std::string& name : gpu_names) {
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

void CountStale(const RateCard& card, Instant now, DataQuality& quality) {
  std::set<std::string> candidates;  // GPUs may have the same
  for (const Rate& rate : card.rates()) {
    if (!rate.stale) continue;
    if (rate.per_gpu_hour) quality.Count(QualityId::kPriceStale);
    for (const Rate::Candidate& c : rate.candidates) {
      if (rate.per_gpu_hour || !IsStale(c.as_of, now) || !candidates.insert(c.key).second) continue;
      quality.Count(QualityId::kPriceStale);
    }
  }
}

std::vector<RunFact> MachineFacts(bool ask_cloud) {
  std::optional<InstanceType> machine = DetectInstanceType("/sys/class/dmi/id");
  if (ask_cloud) {
    CloudQuestion question;
    if (machine) question.provider = machine->provider;
    if (const char* base = std::getenv("IDLEBURN_METADATA_URL")) question.base = base;
    Result<InstanceType> told = AskCloud(question);
    if (!told) Say("--detect-cloud: " + told.error().message);
    if (told) machine = *std::move(told);
  }
  std::vector<RunFact> facts;
  if (!machine || !machine->type) return facts;
  facts.push_back({kInstance, machine->provider + ":" + *machine->type});
  if (!machine->region.empty()) facts.push_back({kRegion, machine->region});
  if (!machine->market.empty()) facts.push_back({kMarket, machine->market});
  return facts;
}

RateQuestion QuestionOf(const RunFacts& facts) {
  RateQuestion question;
  question.instance = FactIn(facts, kInstance);
  question.region = FactIn(facts, kRegion);
  question.market = FactIn(facts, kMarket);
  question.host = FactIn(facts, "host");
  return question;
}

}  // namespace idleburn
