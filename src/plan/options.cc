#include "plan/options.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <numeric>
#include <vector>

#include "base/money.h"
#include "plan/gpu_rate.h"
#include "price/find_rate.h"
#include "text/strings.h"

namespace idleburn {

// Prices, then offers, then options. A price of the user's own that names no GPU is that of the GPU asked for and of no
// other: spread over all models it would make every GPU cost the same, and the comparison would be meaningless.

namespace {

// Prices that name a model, on whatever host. A plan compares GPUs, and a price of all of them would make them equal.
RateBook NamedOnly(const RateBook& all) {
  RateBook named = all;
  // Everything that would give a price to a GPU that nobody named goes.
  named.catalogue = Catalogue();
  named.owned.reset();
  named.host.clear();
  std::erase_if(named.stated, [](const RateBook::Stated& stated) { return stated.gpus.all(); });
  for (Contract& contract : named.contracts) {
    std::erase_if(contract.applies_to, [](const GpuSelector& gpus) { return gpus.all(); });
  }
  return named;
}

// The user's own prices alone.
RateBook WithoutCatalogue(RateBook book) {
  book.catalogue = Catalogue();
  return book;
}

// The price of so many GPUs at those rates: one rate for each, or a single one for all of them. Where the first rate
// names its source, it stands for all.
Result<OwnPrice> SumOf(const std::vector<Rate>& rates, int gpus, const Catalogue& catalogue) {
  OwnPrice own;
  own.currency = rates.front().currency;
  own.source = rates.front().source;
  Money sum;
  for (const Rate& rate : rates) {
    // One GPU without a price leaves all of them without one.
    if (!rate.per_gpu_hour || rate.currency != own.currency) return own;
    sum = TRY(Add(sum, *rate.per_gpu_hour));
  }
  own.on_demand = TRY(Scale(sum, gpus, static_cast<Int128>(rates.size())));
  const bool one = std::all_of(rates.begin(), rates.end(), [&](const Rate& rate) { return rate == rates.front(); });
  if (one && !rates.front().key.empty()) own.row = catalogue.Find(rates.front().key);
  return own;
}

// Whether one GPU's price depends on how many there are.
bool CountsGpus(const RateBook& book) {
  return std::any_of(book.contracts.begin(), book.contracts.end(),
                     [](const Contract& contract) { return contract.gpus.has_value(); });
}

// Refuses a price of GPUs that nobody sells or plans with. As in an audit, such a price is misspelt.
Result<void> CheckStated(const RateBook& book, const std::string& asked) {
  std::vector<std::string> models = {asked};
  for (const GpuRate& rate : AllGpuRates()) models.emplace_back(rate.gpu);
  for (const CatalogueRow* row : book.catalogue.Rows()) models.push_back(row->gpu);
  for (const RateBook::Stated& stated : book.stated) {
    const bool meant = stated.gpus.all() || std::any_of(models.begin(), models.end(), [&](const std::string& model) {
                         return stated.gpus.Closeness({{}, book.host, model}) > 0;
                       });
    if (meant) continue;
    return FailUsage("plan: --price " + stated.text + ": no GPU is called " + stated.gpus.text() +
                     "; idleburn prices list shows the models");
  }
  return {};
}

}  // namespace

Result<std::optional<Money>> PlanAmount(const char* flag, const std::string& text) {
  if (text.empty()) return std::optional<Money>();
  const Result<Money> amount = Money::Parse(text.front() == '$' ? text.substr(1) : text);
  if (amount && *amount > Money()) return std::optional<Money>(*amount);
  return FailUsage(fmt::format("plan: {} '{}' is not an amount above 0; write 500 or 2.49", flag, text.substr(0, 20)));
}

Result<PlanPrices> PlanPrices::Open(const Settings& settings, const Question& question) {
  PlanPrices prices;
  const std::optional<Money> spot = TRY(PlanAmount("--spot-price", question.spot));
  prices.spot_ = spot;
  prices.spot_currency_ = settings.Text("price.currency");
  RateQuestion rates;
  rates.host = question.host;
  // A run to come is priced as of now.
  rates.live = true;
  const Prices opened = TRY(OpenRates(settings, question.now));
  prices.own_ = opened.For(rates);
  prices.named_ = NamedOnly(prices.own_);
  const std::optional<GpuRate> asked = idleburn::RateOf(question.gpu);
  prices.asked_ = asked ? std::string(asked->gpu) : question.gpu;
  if (settings.Get("price.rate").origin == "--price") TRY(CheckStated(prices.own_, prices.asked_));

  // Prices of any model at all become prices of the GPU asked for, if there is one.
  const std::vector<std::string> any = {prices.asked_};
  const std::vector<Rate> of_any = TRY(RatesOfModels(WithoutCatalogue(prices.own_), any));
  const std::vector<Rate> by_name = TRY(RatesOfModels(prices.named_, any));
  // There is a price, and it comes from no name of a GPU.
  const bool nameless = of_any.front().kind != RateKind::kNone && by_name.front().kind == RateKind::kNone;
  if (!question.gpu.empty()) {
    prices.only_asked_ = nameless || prices.spot_;
    return prices;
  }
  const bool by_flag =
      settings.Get("price.rate").origin == "--price" || settings.Get("price.owned").origin == "--owned";
  if (prices.spot_ || (nameless && by_flag)) {
    return FailUsage("plan: --price, --owned and --spot-price apply to one GPU; name it with --gpu");
  }
  if (nameless) {
    prices.remark_ = of_any.front().source + " names no GPU and has no effect; name the GPU of the plan with --gpu";
  }
  return prices;
}

Result<std::optional<OwnPrice>> PlanPrices::Of(std::string_view gpu, int gpus) const {
  const bool asked = gpu == asked_ && !asked_.empty();
  // Asking for each GPU by itself shows where a contract ends; without such contracts one stands for all.
  const int asked_for = CountsGpus(own_) ? std::max(gpus, 1) : 1;
  const std::vector<std::string> models(static_cast<std::size_t>(asked_for), std::string(gpu));
  const std::vector<Rate> rates = TRY(RatesOfModels(asked ? WithoutCatalogue(own_) : named_, models));
  const bool any = rates.front().kind != RateKind::kNone || rates.front().reason == "partly_under_contract";
  std::optional<OwnPrice> own;
  if (any) {
    own = TRY(SumOf(rates, gpus, own_.catalogue));
  }
  if (!asked || !spot_) return own;
  // A spot price alone has nothing to be compared with.
  if (!own) own = OwnPrice{{}, {}, nullptr, spot_currency_, "--spot-price"};
  if (own->currency != spot_currency_) {
    return Fail("plan: --spot-price is in " + spot_currency_ + " and " + own->source + " in " + own->currency +
                "; give both in one currency");
  }
  own->spot = TRY(Scale(*spot_, gpus, 1));
  return own;
}

Result<Rate> PlanPrices::RateOf(std::string_view gpu) const {
  std::vector<std::string> models;
  if (!gpu.empty()) models.emplace_back(gpu);
  return RateOfModels(own_, models);
}

namespace {

// What was found of offers, and what was left out of them.
struct PlanOffers {
  std::vector<PlanOffer> offers;         // in the order of GPU, number, market
  std::vector<std::string> unfit;        // GPUs with a price that no number asked for fits
  std::vector<std::string> unrated;      // GPUs with a price that no time can be estimated for
  std::size_t spot_not_offered = 0;      // spot prices that are no lower than on demand
  std::vector<std::string> part_priced;  // GPUs with a price for some only: "16 x H100-80GB-SXM"
  std::vector<std::string> no_network;   // machines of few GPUs whose network is not known: "8 x L4-24GB on 8 machines"
  std::size_t other_currency = 0;        // offers in USD beside own prices in another: they have no comparison
};

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

// Fewer machines first, because communication between machines costs time that no price shows; then the price.
bool Cheaper(const HourPrice& a, const HourPrice& b) {
  // The key comes last, so that equal offers are listed in one order everywhere.
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

// The on-demand row of the same instance and region; null where there is none.
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

// The least price in a market: on the fewest machines, and of those the cheapest.
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
    // A spot price is shown beside what the same machine costs on demand.
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

// The user's own price as a price of whole machines. A spot price that is no lower than on demand is not offered.
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

// The price of so many GPUs in a market: the user's own, else the catalogue's.
Result<std::optional<HourPrice>> PriceIn(const Catalogue& catalogue, const std::optional<OwnPrice>& own,
                                         const std::vector<const CatalogueRow*>& rows, Market market, int gpus,
                                         std::size_t& not_offered) {
  if (!own) return LeastPrice(catalogue, rows, market, gpus, not_offered);
  // Machines that are priced whole must be counted, so such a price goes the catalogue's way.
  const bool by_row = own->row != nullptr && own->row->market == market;
  if (by_row) return LeastPrice(catalogue, {own->row}, market, gpus, not_offered);
  if (own->row != nullptr && market != Market::kSpot) return std::optional<HourPrice>();
  return HourOf(*own, market, not_offered);
}

// How the run goes on so many GPUs of a kind.
struct RunOnGpus {
  MemoryFit fit = MemoryFit::kNo;
  std::optional<WorkHours> work;  // absent: no time can be estimated
};

// Judges fit and time of the planned run on other GPUs, with whatever evidence the report has.
RunOnGpus RunOn(const PlanReport& report, const Calibration& calibration, std::string_view gpu, int gpus,
                int machines) {
  RunRow row = report.plan.run;
  row.run.gpu = std::string(gpu);
  row.run.gpus = gpus;
  // The machines that are rented, or those that the plan spreads over.
  row.run.nodes = std::max<double>(machines, report.plan.run.run.gpus == gpus ? report.plan.run.run.nodes : 1);
  RunOnGpus result;
  // Without a model the rate was measured, so the run fits where it was.
  if (report.plan.no_model) {
    result.fit = MemoryFit::kFits;
    if (report.hours) {
      result.work = WorkHours{Hours(report.hours->low), Hours(report.hours->likely), Hours(report.hours->high)};
    }
    return result;
  }
  const std::optional<Prediction> memory = PeakOn(calibration, report.plan, report.evidence, row);
  const std::optional<GpuRate> rate = RateOf(gpu);
  if (!memory || !rate) return result;
  result.fit = JudgeFit(*memory, rate->memory_gib * kGib);
  std::optional<LikelyRange> hours;
  // A stated speed replaces the model, also in what it is uncertain about.
  if (const auto stated = StatedRange(report)) {
    hours = HoursAt(report.plan, gpus, *stated);
  } else if (const auto speed = TokensOn(calibration, report.plan, report.evidence, row)) {
    hours = HoursAt(report.plan, gpus, *speed);
  }
  if (hours) result.work = WorkHours{Hours(hours->low), Hours(hours->likely), Hours(hours->high)};
  return result;
}

// One offer from a price and a run that fits; the price of the machines is spread over the GPUs that work.
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

// The GPUs to be weighed, each with the rows of the catalogue that offer it.
using GpuRows = std::map<std::string, std::vector<const CatalogueRow*>>;

// Which GPUs are compared: the one asked for where its price or speed holds for no other, else all that have a price.
Result<GpuRows> GpusToWeigh(const PlanReport& report, const OfferQuestion& question, PlanOffers& found) {
  GpuRows kinds = RowsByGpu(question.prices->catalogue(), found.unrated);
  // Where only one GPU is weighed, the catalogue's others are no loss to report.
  const std::optional<GpuRate> asked = RateOf(report.plan.run.run.gpu);
  if (question.prices->only_asked() || report.stated_tokens_per_s) {
    // A GPU without a name has the user's own price.
    const std::string only(asked ? asked->gpu : report.plan.no_model ? report.plan.run.run.gpu : "");
    found.unrated.clear();
    return GpuRows{{only, kinds[only]}};
  }
  for (const GpuRate& rate : AllGpuRates()) {  // GPUs that the user priced and the catalogue lacks
    if (kinds.contains(std::string(rate.gpu))) continue;
    const std::optional<OwnPrice> own = TRY(question.prices->Of(rate.gpu, 1));
    if (own) kinds[std::string(rate.gpu)] = {};
  }
  return kinds;
}

// Whether so many GPUs of a kind have a price in any market, and whether the run fits them.
struct Weighed {
  bool priced = false;
  bool fits = false;
  // Whether offers were left out because their machines exchange over an unknown network.
  bool apart = false;
};

// Whether the run exchanges weights or activations between machines of fewer GPUs than a fast link joins, over a
// network that the plan does not state. Adapters alone are small enough for any network.
bool CrossesUnknownNetwork(const RunConfig& run, const HourPrice& price, std::string_view gpu, int gpus) {
  if (price.machines <= 1 || !price.gpus || run.network_gbs > 0) return false;
  const double each = static_cast<double>(*price.gpus) / price.machines;
  if (each >= UsualGpusOfNode(gpu)) return false;
  const bool divided = run.tensor_parallel * run.pipeline_parallel * run.context_parallel * run.expert_parallel > 1;
  const bool full = run.method == TuneMethod::kAllWeights && gpus > 1;
  return divided || full || run.sharding != Sharding::kNone;
}

// Adds what it finds to `found`.
Result<Weighed> AddOffers(const PlanReport& report, const OfferQuestion& question, const std::string& gpu, int gpus,
                          const std::vector<const CatalogueRow*>& rows, PlanOffers& found) {
  Weighed weighed;
  const std::optional<OwnPrice> own = TRY(question.prices->Of(gpu, gpus));
  // Some of these GPUs have a price of the user's own and some have none.
  if (own && !own->on_demand && !own->spot) {
    found.part_priced.push_back(std::to_string(gpus) + " x " + gpu);
  }
  for (const Market market : {Market::kOnDemand, Market::kReserved, Market::kSpot}) {
    const std::optional<HourPrice> price =
        TRY(PriceIn(question.prices->catalogue(), own, rows, market, gpus, found.spot_not_offered));
    if (!price) continue;
    weighed.priced = true;
    // Machines of a GPU each are no node: what they exchange goes over a network that nobody stated.
    if (CrossesUnknownNetwork(report.plan.run.run, *price, gpu, gpus)) {
      weighed.fits = weighed.apart = true;
      std::string left = fmt::format("{} x {} on {} machines", gpus, gpu, price->machines);
      if (found.no_network.empty() || found.no_network.back() != left) found.no_network.push_back(std::move(left));
      continue;
    }
    const RunOnGpus run = RunOn(report, *question.calibration, gpu, gpus, price->machines);
    weighed.fits = weighed.fits || run.fit != MemoryFit::kNo;
    if (run.fit == MemoryFit::kNo || !run.work) continue;
    PlanOffer offer = TRY(Offered(*price, market, gpu, gpus, run));
    if (market == Market::kSpot) offer.run.machines = question.machines;
    found.offers.push_back(std::move(offer));
  }
  return weighed;
}

// Leaves out the catalogue's offers, in USD, beside own prices in another currency: the amounts cannot be compared.
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

// Finds offers for a run whose samples are known. A stated throughput holds only for the GPU and the number that it was
// stated for, so only these are offered then. Fails if own prices are in several currencies.
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
      any.apart = any.apart || weighed.apart;
    }
    // Each GPU is reported once, by the first reason that left it out.
    const bool said = found.part_priced.size() > in_part || any.apart;
    if (any.priced && !said && found.offers.size() == before) (any.fits ? found.unrated : found.unfit).push_back(gpu);
  }
  TRY(KeepOneCurrency(found));
  return found;
}

constexpr int kHistoryStarts = 60;  // moments of a history at which a run is started, for the interval by trial

// Says what was left out and why: an option that is missing without a word would look like one that is dear.
void WarnOfOffers(const PlanOffers& found, Instant now, std::vector<std::string>& warnings) {
  if (!found.unfit.empty()) warnings.push_back("left out, because the job does not fit: " + ListText(found.unfit));
  if (!found.unrated.empty())
    warnings.push_back("left out, because no time can be estimated: " + ListText(found.unrated));
  if (found.spot_not_offered > 0) {
    warnings.push_back(
        fmt::format("{} spot prices are no lower than on demand and are left out", found.spot_not_offered));
  }
  if (!found.part_priced.empty()) {
    warnings.push_back("left out, because your prices cover only some of these GPUs: " + ListText(found.part_priced));
  }
  if (!found.no_network.empty()) {
    warnings.push_back(
        "left out, because the network between their machines is not known (--network, Gbit/s of a machine): " +
        ListText(found.no_network));
  }
  if (found.other_currency > 0) {
    warnings.push_back(fmt::format(
        "{} offers of the catalogue are in USD and are left out, because your prices are not", found.other_currency));
  }
  const auto old = std::count_if(found.offers.begin(), found.offers.end(),
                                 [&](const PlanOffer& offer) { return IsStale(offer.as_of, now); });
  if (old > 0) {
    warnings.push_back(fmt::format("{} of {} prices are older than {} days; update them with --prices", old,
                                   found.offers.size(), kStaleAfterDays));
  }
}

// What to take. An offer that may not fit is recommended only where nothing else is there.
OptionChoice Choose(const PlanOptions& plan) {
  std::vector<RunOption> sure;
  for (const RunOption& option : plan.options) {
    if (plan.offers[option.offer].fit == MemoryFit::kFits) sure.push_back(option);
  }
  if (sure.empty()) return ChooseOption(plan.options, plan.caps);
  // Indices of the sure ones become indices of all.
  OptionChoice choice = ChooseOption(sure, plan.caps);
  if (choice.best) choice.best = sure[*choice.best].offer;
  if (choice.nearest) choice.nearest = sure[*choice.nearest].offer;
  return choice;
}

// The spot offer that intervals are shown for: the recommended one, else the cheapest.
std::optional<std::size_t> ShownSpot(const PlanOptions& plan) {
  const auto spot = [&](std::size_t i) {
    return plan.offers[i].market == Market::kSpot && plan.options[i].interruptions;
  };
  if (plan.choice.best && spot(*plan.choice.best)) return plan.choice.best;
  const auto found = std::find_if(plan.order.begin(), plan.order.end(), spot);
  return found == plan.order.end() ? std::nullopt : std::optional(*found);
}

// Sets the checkpoint intervals of the spot offer that is shown, by each formula and by trial on the history.
void SetIntervals(PlanOptions& plan) {
  plan.interval_of = plan.spot.complete() ? ShownSpot(plan) : std::nullopt;
  if (!plan.interval_of) return;
  const RunOffer& offer = plan.offers[*plan.interval_of].run;
  const LaunchFacts& launch = plan.spot.launch;
  if (launch.checkpoint == Hours{} || !plan.options[*plan.interval_of].interval) return;  // it has no best interval
  const CheckpointedWork job{offer.work.likely, *plan.options[*plan.interval_of].interval, launch.checkpoint,
                             launch.restart};
  const Hours mean_uptime = JobMeanUptime(plan.spot.machines->mean_up, offer.nodes);
  // These three are shown to compare; the interval that is used is Young's or the user's.
  plan.daly = DalyTime(job, mean_uptime);
  plan.daly_interval = DalyInterval(launch.checkpoint, mean_uptime);
  plan.availability_interval = AvailabilityOptimalInterval(launch.checkpoint, launch.restart, mean_uptime);
  // Seats of a history are lost one by one, so it is no replay of several machines at once.
  if (!plan.spot.history || offer.nodes > 1) return;
  plan.by_history = ChooseInterval(*plan.spot.history, job, launch.unbilled, kHistoryStarts);
}

// Says that spot costs are a lower bound if the rate of lost machines is unknown.
void WarnOfSpot(PlanOptions& plan) {
  const bool spot = std::any_of(plan.offers.begin(), plan.offers.end(),
                                [](const PlanOffer& offer) { return offer.market == Market::kSpot; });
  plan.warnings.insert(plan.warnings.end(), plan.spot.doubts.begin(), plan.spot.doubts.end());
  if (!spot || plan.spot.complete()) return;
  plan.warnings.push_back(
      "spot costs assume no interruptions, so they are a lower bound; to include interruptions give " +
      ListText(plan.spot.missing));
}

}  // namespace

std::vector<double> GpuCountsFor(const PlannedRun& plan, bool asked) {
  const RunConfig& run = plan.run.run;
  const bool stated = plan.samples_per_min || plan.tokens_per_s_per_gpu;
  if (asked || stated || run.sharding == Sharding::kNone) return {run.gpus};
  std::vector<double> counts;
  for (const double count : {1.0, 2.0, 4.0, 8.0}) {
    const double model = run.tensor_parallel * run.pipeline_parallel * run.context_parallel;
    if (std::fmod(count, model) == 0) counts.push_back(count);
  }
  return counts;
}

Result<std::optional<PlanOptions>> MakePlanOptions(const PlanReport& report, const OptionsQuestion& question) {
  if (!report.plan.samples) return std::optional<PlanOptions>();
  const PlanOffers found = TRY(FindOffers(report, question.offers));
  PlanOptions plan;
  plan.offers = found.offers;
  if (!plan.offers.empty()) plan.currency = plan.offers.front().currency;
  plan.caps = question.caps;
  plan.spot = question.spot;
  if (!question.offers.prices->remark().empty()) plan.warnings.push_back(question.offers.prices->remark());
  WarnOfOffers(found, question.now, plan.warnings);
  std::vector<RunOffer> offers;
  for (const PlanOffer& offer : plan.offers) offers.push_back(offer.run);
  plan.options = TRY(WeighOffers(offers, plan.spot.launch, plan.caps));
  plan.order.resize(plan.options.size());
  std::iota(plan.order.begin(), plan.order.end(), std::size_t{0});
  // Equal costs keep the order of GPU, number and market.
  std::stable_sort(plan.order.begin(), plan.order.end(), [&](std::size_t a, std::size_t b) {
    const std::optional<CostRange>& left = plan.options[a].cost;
    const std::optional<CostRange>& right = plan.options[b].cost;
    if (!left || !right) return left.has_value() && !right;
    return left->likely < right->likely;
  });
  plan.choice = Choose(plan);
  SetIntervals(plan);
  WarnOfSpot(plan);
  return std::optional<PlanOptions>(std::move(plan));
}

std::string BrokenCaps(const PlanOptions& plan) {
  if (plan.choice.best) return "";
  if (!plan.choice.nearest) return "over-budget: not judged: the cost of no option is known";
  return fmt::format("over-budget: no option keeps the caps; the nearest is {:.0f} % beyond",
                     100 * plan.choice.overshoot);
}

}  // namespace idleburn
