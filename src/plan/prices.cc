#include "plan/prices.h"

#include <fmt/format.h>

#include <algorithm>
#include <vector>

#include "plan/gpu_rate.h"
#include "price/find_rate.h"

namespace idleburn {
namespace {

// Only what names a model, on whatever host: a plan compares GPUs, and a price of all of them would make them equal.
RateBook NamedOnly(const RateBook& all) {
  RateBook named = all;
  named.catalogue = Catalogue();
  named.owned.reset();
  named.host.clear();
  std::erase_if(named.stated, [](const RateBook::Stated& stated) { return stated.gpus.all(); });
  for (Contract& contract : named.contracts) {
    std::erase_if(contract.applies_to, [](const GpuSelector& gpus) { return gpus.all(); });
  }
  return named;
}

RateBook WithoutCatalogue(RateBook book) {
  book.catalogue = Catalogue();
  return book;
}

// Of so many GPUs those rates, or all of them the only one. The first of several stands for them where it is named.
Result<OwnPrice> SumOf(const std::vector<Rate>& rates, int gpus, const Catalogue& catalogue) {
  OwnPrice own;
  own.currency = rates.front().currency;
  own.source = rates.front().source;
  Money sum;
  for (const Rate& rate : rates) {
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

// Of GPUs that nobody sells or plans with: as in an audit, a price given for them is misspelt.
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
  return FailUsage(fmt::format("plan: {} '{}' is no amount above 0; write 500 or 2.49", flag, text.substr(0, 20)));
}

Result<PlanPrices> PlanPrices::Open(const Settings& settings, const Question& question) {
  PlanPrices prices;
  const std::optional<Money> spot = TRY(PlanAmount("--spot-price", question.spot));
  prices.spot_ = spot;
  prices.spot_currency_ = settings.Text("price.currency");
  RateQuestion rates;
  rates.host = question.host;
  rates.live = true;
  const Prices opened = TRY(OpenRates(settings, question.now));
  prices.own_ = opened.For(rates);
  prices.named_ = NamedOnly(prices.own_);
  const std::optional<GpuRate> asked = idleburn::RateOf(question.gpu);
  prices.asked_ = asked ? std::string(asked->gpu) : question.gpu;
  if (settings.Get("price.rate").origin == "--price") TRY(CheckStated(prices.own_, prices.asked_));

  // Of any model at all: of the GPU asked for, if it is asked for.
  const std::vector<std::string> any = {prices.asked_};
  const std::vector<Rate> of_any = TRY(RatesOfModels(WithoutCatalogue(prices.own_), any));
  const std::vector<Rate> by_name = TRY(RatesOfModels(prices.named_, any));
  const bool nameless = of_any.front().kind != RateKind::kNone && by_name.front().kind == RateKind::kNone;
  if (!question.gpu.empty()) {
    prices.only_asked_ = nameless || prices.spot_;
    return prices;
  }
  const bool by_flag =
      settings.Get("price.rate").origin == "--price" || settings.Get("price.owned").origin == "--owned";
  if (prices.spot_ || (nameless && by_flag)) {
    return FailUsage("plan: --price, --owned and --spot-price are of one GPU; say which with --gpu");
  }
  if (nameless) {
    prices.remark_ = of_any.front().source + " names no GPU; it counts once the plan does, with --gpu";
  }
  return prices;
}

Result<std::optional<OwnPrice>> PlanPrices::Of(std::string_view gpu, int gpus) const {
  const bool asked = gpu == asked_ && !asked_.empty();
  const int asked_for = CountsGpus(own_) ? std::max(gpus, 1) : 1;
  const std::vector<std::string> models(static_cast<std::size_t>(asked_for), std::string(gpu));
  const std::vector<Rate> rates = TRY(RatesOfModels(asked ? WithoutCatalogue(own_) : named_, models));
  const bool any = rates.front().kind != RateKind::kNone || rates.front().reason == "partly_under_contract";
  std::optional<OwnPrice> own;
  if (any) {
    own = TRY(SumOf(rates, gpus, own_.catalogue));
  }
  if (!asked || !spot_) return own;
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

}  // namespace idleburn
