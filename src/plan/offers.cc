#include "plan/offers.h"

#include <algorithm>
#include <array>
#include <map>

#include "plan/gpu_rate.h"

namespace idleburn {
namespace {

constexpr std::int64_t kWhole = 1'000'000;  // millionths of a GPU

// What so many GPUs of one kind cost in one market.
struct HourPrice {
  Money per_hour;  // of all machines
  int machines = 1;
  std::string key;
  std::optional<Instant> as_of;
  std::optional<Money> on_demand_per_hour;  // of the same machines, for a spot price
  std::string currency = "USD";
  std::optional<int> gpus;  // in these machines
};

bool Cheaper(const HourPrice& a, const HourPrice& b) {
  if (a.machines != b.machines) return a.machines < b.machines;
  if (a.per_hour != b.per_hour) return a.per_hour < b.per_hour;
  return a.key < b.key;
}

// Whole machines that hold `gpus`; a part of a GPU runs no training.
std::optional<int> MachinesFor(const CatalogueRow& row, int gpus) {
  const std::int64_t each = row.gpu_micros / kWhole;
  if (each < 1 || row.gpu_micros % kWhole != 0) return std::nullopt;
  return static_cast<int>((gpus + each - 1) / each);
}

// The price of an on-demand row of the same instance and region, where there is one.
const CatalogueRow* OnDemandTwin(const Catalogue& catalogue, const CatalogueRow& spot) {
  CatalogueRow twin = spot;
  twin.market = Market::kOnDemand;
  return catalogue.Find(KeyOf(twin));
}

// The catalogue by the GPU's name in the table of rates.
std::map<std::string, std::vector<const CatalogueRow*>> RowsByGpu(const Catalogue& catalogue,
                                                                  std::vector<std::string>& unrated) {
  std::map<std::string, std::vector<const CatalogueRow*>> rows;
  for (const CatalogueRow* row : catalogue.Rows()) {
    const std::optional<GpuRate> rate = RateOf(row->gpu);
    if (rate) {
      rows[std::string(rate->gpu)].push_back(row);
    } else if (std::find(unrated.begin(), unrated.end(), row->gpu) == unrated.end()) {
      unrated.push_back(row->gpu);
    }
  }
  return rows;
}

// On the fewest machines, and of those the cheapest.
Result<std::optional<HourPrice>> LeastPrice(const Catalogue& catalogue, const std::vector<const CatalogueRow*>& rows,
                                            Market market, int gpus, std::size_t& spot_not_offered) {
  std::optional<HourPrice> least;
  for (const CatalogueRow* row : rows) {
    const std::optional<int> machines = MachinesFor(*row, gpus);
    if (row->market != market || !machines) continue;
    HourPrice price;
    price.machines = *machines;
    price.key = KeyOf(*row);
    price.as_of = row->as_of;
    price.gpus = *machines * static_cast<int>(row->gpu_micros / kWhole);
    price.per_hour = TRY(Scale(row->per_hour, *machines, 1));
    const CatalogueRow* twin = market == Market::kSpot ? OnDemandTwin(catalogue, *row) : nullptr;
    if (twin != nullptr) {
      if (row->per_hour >= twin->per_hour) {
        ++spot_not_offered;
        continue;
      }
      price.on_demand_per_hour = TRY(Scale(twin->per_hour, *machines, 1));
    }
    if (!least || Cheaper(price, *least)) least = price;
  }
  return least;
}

std::optional<HourPrice> HourOf(const OwnPrice& own, Market market, std::size_t& not_offered) {
  const std::optional<Money>& all = market == Market::kSpot ? own.spot : own.on_demand;
  if (!all || market == Market::kReserved) return std::nullopt;
  if (market == Market::kSpot && own.on_demand && *own.spot >= *own.on_demand) {
    ++not_offered;
    return std::nullopt;
  }
  HourPrice price;
  price.per_hour = *all;
  price.key = market == Market::kSpot ? "--spot-price" : own.source;
  price.currency = own.currency;
  if (market == Market::kSpot) price.on_demand_per_hour = own.on_demand;
  return price;
}

// The price that a GPU and number is looked up by: the user's own, else the catalogue's.
Result<std::optional<HourPrice>> PriceIn(const Catalogue& catalogue, const std::optional<OwnPrice>& own,
                                         const std::vector<const CatalogueRow*>& rows, Market market, int gpus,
                                         std::size_t& not_offered) {
  if (!own) return LeastPrice(catalogue, rows, market, gpus, not_offered);
  const bool by_row = own->row != nullptr && own->row->market == market;
  if (by_row) return LeastPrice(catalogue, {own->row}, market, gpus, not_offered);
  if (own->row != nullptr && market != Market::kSpot) return std::optional<HourPrice>();
  return HourOf(*own, market, not_offered);
}

struct RunOnGpus {
  MemoryFit fit = MemoryFit::kNo;
  std::optional<WorkHours> work;  // absent: no time can be estimated
};

RunOnGpus RunOn(const PlanReport& report, const Calibration& calibration, std::string_view gpu, int gpus,
                int machines) {
  RunRow row = report.plan.run;
  row.run.gpu = std::string(gpu);
  row.run.gpus = gpus;
  row.run.nodes = std::max<double>(machines, report.plan.run.run.gpus == gpus ? report.plan.run.run.nodes : 1);
  RunOnGpus result;
  const std::optional<Prediction> memory = PeakOn(calibration, report.plan, report.evidence, row);
  const std::optional<GpuRate> rate = RateOf(gpu);
  if (!memory || !rate) return result;
  result.fit = JudgeFit(memory->likely, memory->high, rate->memory_gib * kGib);
  std::optional<LikelyRange> hours;
  if (report.stated_tokens_per_s) {
    const double stated = *report.stated_tokens_per_s;
    hours = HoursAt(report.plan, gpus, {stated, stated, stated});
  } else if (const auto speed = TokensOn(calibration, report.plan, report.evidence, row)) {
    hours = HoursAt(report.plan, gpus, {speed->likely, speed->low, speed->high});
  }
  if (hours) result.work = WorkHours{Hours(hours->low), Hours(hours->likely), Hours(hours->high)};
  return result;
}

Result<PlanOffer> Offered(const HourPrice& price, Market market, std::string_view gpu, int gpus, const RunOnGpus& run) {
  PlanOffer offer;
  offer.market = market;
  offer.fit = run.fit;
  offer.price_key = price.key;
  offer.as_of = price.as_of;
  offer.currency = price.currency;
  offer.rented_gpus = price.gpus;
  offer.run.gpu = std::string(gpu);
  offer.run.gpus = gpus;
  offer.run.nodes = price.machines;
  offer.run.spot = market == Market::kSpot;
  offer.run.work = *run.work;
  offer.run.per_gpu_hour = TRY(Scale(price.per_hour, 1, gpus));
  if (price.on_demand_per_hour) {
    offer.run.on_demand_per_gpu_hour = TRY(Scale(*price.on_demand_per_hour, 1, gpus));
  }
  return offer;
}

// The GPUs to be weighed, each with the catalogue's rows of it.
using GpuRows = std::map<std::string, std::vector<const CatalogueRow*>>;

Result<GpuRows> GpusToWeigh(const PlanReport& report, const OfferQuestion& question, PlanOffers& found) {
  GpuRows kinds = RowsByGpu(question.prices->catalogue(), found.unrated);
  const std::optional<GpuRate> asked = RateOf(report.plan.run.run.gpu);
  if (question.prices->only_asked() || report.stated_tokens_per_s) {
    const std::string only(asked ? asked->gpu : "");
    found.unrated.clear();
    return GpuRows{{only, kinds[only]}};
  }
  for (const GpuRate& rate : AllGpuRates()) {  // of which the catalogue has none, and the user has a price
    if (kinds.contains(std::string(rate.gpu))) continue;
    const std::optional<OwnPrice> own = TRY(question.prices->Of(rate.gpu, 1));
    if (own) kinds[std::string(rate.gpu)] = {};
  }
  return kinds;
}

// The offers of so many GPUs of a kind, in every market.
struct Weighed {
  bool priced = false;
  bool fits = false;
};

Result<Weighed> AddOffers(const PlanReport& report, const OfferQuestion& question, const std::string& gpu, int gpus,
                          const std::vector<const CatalogueRow*>& rows, PlanOffers& found) {
  Weighed weighed;
  const std::optional<OwnPrice> own = TRY(question.prices->Of(gpu, gpus));
  if (own && !own->on_demand && !own->spot) {
    found.part_priced.push_back(std::to_string(gpus) + " x " + gpu);
  }
  for (const Market market : {Market::kOnDemand, Market::kReserved, Market::kSpot}) {
    const std::optional<HourPrice> price =
        TRY(PriceIn(question.prices->catalogue(), own, rows, market, gpus, found.spot_not_offered));
    if (!price) continue;
    weighed.priced = true;
    const RunOnGpus run = RunOn(report, *question.calibration, gpu, gpus, price->machines);
    weighed.fits = weighed.fits || run.fit != MemoryFit::kNo;
    if (run.fit == MemoryFit::kNo || !run.work) continue;
    PlanOffer offer = TRY(Offered(*price, market, gpu, gpus, run));
    if (market == Market::kSpot) offer.run.machines = question.machines;
    found.offers.push_back(std::move(offer));
  }
  return weighed;
}

// Amounts of two currencies cannot be compared: beside own prices in another one the catalogue's, in USD, are left out.
Result<void> KeepOneCurrency(PlanOffers& found) {
  const PlanOffer* own = nullptr;
  for (const PlanOffer& offer : found.offers) {
    if (offer.currency == "USD") continue;
    if (own != nullptr && own->currency != offer.currency) {
      return Fail("plan: prices in " + own->currency + " (" + own->price_key + ") and in " + offer.currency + " (" +
                  offer.price_key + ") cannot be compared; give all of them in one currency");
    }
    own = &offer;
  }
  if (own == nullptr) return {};
  found.other_currency = std::erase_if(found.offers, [](const PlanOffer& offer) { return offer.currency == "USD"; });
  return {};
}

}  // namespace

Result<PlanOffers> FindOffers(const PlanReport& report, const OfferQuestion& question) {
  PlanOffers found;
  const GpuRows kinds = TRY(GpusToWeigh(report, question, found));
  for (const auto& [gpu, rows] : kinds) {
    const std::size_t before = found.offers.size();
    Weighed any;
    const std::size_t in_part = found.part_priced.size();
    for (const double count : question.gpu_counts) {
      const Weighed weighed = TRY(AddOffers(report, question, gpu, static_cast<int>(count), rows, found));
      any.priced = any.priced || weighed.priced;
      any.fits = any.fits || weighed.fits;
    }
    const bool said = found.part_priced.size() > in_part;
    if (any.priced && !said && found.offers.size() == before) (any.fits ? found.unrated : found.unfit).push_back(gpu);
  }
  TRY(KeepOneCurrency(found));
  return found;
}

}  // namespace idleburn
