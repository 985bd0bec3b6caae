#include "cli/find_rate.h"

#include "cli/load_prices.h"
#include "measure/instance_type.h"
#include "price/resolve.h"

namespace idleburn {
namespace {

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

std::string InstanceOfThisMachine() {
  const auto machine = DetectInstanceType("/sys/class/dmi/id");
  return machine && machine->type ? machine->provider + ":" + *machine->type : std::string();
}

}  // namespace idleburn
