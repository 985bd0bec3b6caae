#include "cli/plan_offers.h"

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
    HourPrice price{{}, *machines, KeyOf(*row), row->as_of, {}};
    const Result<Money> all = Scale(row->per_hour, *machines, 1);
    if (!all) return tl::unexpected<Error>(all.error());
    price.per_hour = *all;
    const CatalogueRow* twin = market == Market::kSpot ? OnDemandTwin(catalogue, *row) : nullptr;
    if (twin != nullptr) {
      if (row->per_hour >= twin->per_hour) {
        ++spot_not_offered;
        continue;
      }
      const Result<Money> dear = Scale(twin->per_hour, *machines, 1);
      if (!dear) return tl::unexpected<Error>(dear.error());
      price.on_demand_per_hour = *dear;
    }
    if (!least || Cheaper(price, *least)) least = price;
  }
  return least;
}

// Prices a GPU and number is looked up by: the user's own, else the catalogue's.
Result<std::optional<HourPrice>> OwnPrice(const OwnPrices& own, Market market, int gpus, std::size_t& not_offered) {
  const std::optional<Money>& each = market == Market::kSpot ? own.spot : own.on_demand;
  if (!each || market == Market::kReserved) return std::optional<HourPrice>();
  if (market == Market::kSpot && own.on_demand && *own.spot >= *own.on_demand) {
    ++not_offered;
    return std::optional<HourPrice>();
  }
  HourPrice price{{}, 1, own.text, {}, {}};
  const Result<Money> all = Scale(*each, gpus, 1);
  if (!all) return tl::unexpected<Error>(all.error());
  price.per_hour = *all;
  if (market == Market::kSpot && own.on_demand) {
    const Result<Money> dear = Scale(*own.on_demand, gpus, 1);
    if (!dear) return tl::unexpected<Error>(dear.error());
    price.on_demand_per_hour = *dear;
  }
  return std::optional<HourPrice>(price);
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
  offer.run.gpu = std::string(gpu);
  offer.run.gpus = gpus;
  offer.run.nodes = price.machines;
  offer.run.spot = market == Market::kSpot;
  offer.run.work = *run.work;
  const Result<Money> each = Scale(price.per_hour, 1, gpus);
  if (!each) return tl::unexpected<Error>(each.error());
  offer.run.per_gpu_hour = *each;
  if (price.on_demand_per_hour) {
    const Result<Money> dear = Scale(*price.on_demand_per_hour, 1, gpus);
    if (!dear) return tl::unexpected<Error>(dear.error());
    offer.run.on_demand_per_gpu_hour = *dear;
  }
  return offer;
}

}  // namespace

Result<PlanOffers> FindOffers(const PlanReport& report, const OfferQuestion& question) {
  PlanOffers found;
  const std::optional<GpuRate> asked = RateOf(report.plan.run.run.gpu);
  const bool own = question.own.on_demand || question.own.spot;
  std::map<std::string, std::vector<const CatalogueRow*>> kinds = RowsByGpu(*question.catalogue, found.unrated);
  if (own || report.stated_tokens_per_s) {
    const std::string only(asked ? asked->gpu : "");
    std::vector<const CatalogueRow*> rows = kinds[only];
    kinds = {{only, rows}};
    found.unrated.clear();
  }
  for (const auto& [gpu, rows] : kinds) {
    const std::size_t before = found.offers.size();
    bool priced = false;
    bool fits = false;
    for (const double count : question.gpu_counts) {
      const int gpus = static_cast<int>(count);
      for (const Market market : {Market::kOnDemand, Market::kReserved, Market::kSpot}) {
        const Result<std::optional<HourPrice>> price =
            own ? OwnPrice(question.own, market, gpus, found.spot_not_offered)
                : LeastPrice(*question.catalogue, rows, market, gpus, found.spot_not_offered);
        if (!price) return tl::unexpected<Error>(price.error());
        if (!*price) continue;
        priced = true;
        const RunOnGpus run = RunOn(report, *question.calibration, gpu, gpus, (*price)->machines);
        fits = fits || run.fit != MemoryFit::kNo;
        if (run.fit == MemoryFit::kNo || !run.work) continue;
        Result<PlanOffer> offer = Offered(**price, market, gpu, gpus, run);
        if (!offer) return tl::unexpected<Error>(offer.error());
        if (market == Market::kSpot) offer->run.machines = question.machines;
        found.offers.push_back(std::move(*offer));
      }
    }
    if (priced && found.offers.size() == before) (fits ? found.unrated : found.unfit).push_back(gpu);
  }
  return found;
}

}  // namespace idleburn
