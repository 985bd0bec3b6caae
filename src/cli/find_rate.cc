#include "cli/find_rate.h"

#include <cstdlib>
#include <optional>

#include "cli/load_prices.h"
#include "cli/say.h"
#include "measure/cloud_metadata.h"
#include "measure/instance_type.h"
#include "price/resolve.h"

namespace idleburn {
namespace {

constexpr const char* kInstance = "instance";
constexpr const char* kRegion = "instance.region";
constexpr const char* kMarket = "instance.market";

// The other offers of a catalogue price's GPU, so that cheaper ones can be named.
void AddOtherOffers(const Catalogue& catalogue, Rate& rate) {
  const CatalogueRow* row = catalogue.Find(rate.key);
  if (row == nullptr) return;
  for (const CatalogueRow* other : RowsOfGpu(catalogue, row->gpu)) {
    if (const Result<Money> per_gpu = PerGpuHour(*other)) rate.candidates.push_back({KeyOf(*other), *per_gpu});
  }
}

}  // namespace

Result<Rate> FindRate(const Settings& settings, const RateQuestion& question, DataQuality& quality) {
  const Result<Catalogue> catalogue = LoadPrices(settings.Text("price.catalogue"), quality);
  if (!catalogue) return tl::unexpected<Error>(catalogue.error());
  PriceRequest request;
  if (settings.Has("price.rate")) request.price = settings.Text("price.rate");
  if (settings.Has("price.owned")) request.owned = settings.Text("price.owned");
  request.instance = question.instance;
  request.region = question.region;
  request.market = question.market;
  request.gpu_names = question.gpu_names;
  request.now = question.now;
  Result<Rate> rate = ResolveRate(*catalogue, request);
  if (rate && settings.Get("price.currency").origin != "default" && rate->kind != RateKind::kCatalogue) {
    rate->currency = settings.Text("price.currency");
  }
  if (rate && rate->kind == RateKind::kCatalogue) AddOtherOffers(*catalogue, *rate);
  if (rate && rate->stale) quality.Count(QualityId::kPriceStale);
  return rate;
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
  return {FactIn(facts, kInstance), FactIn(facts, kRegion), FactIn(facts, kMarket), {}, {}};
}

}  // namespace idleburn
