#include "plan/options.h"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>

#include "base/billing.h"
#include "text/strings.h"

namespace idleburn {
namespace {

constexpr int kHistoryStarts = 60;  // moments of a history at which a run is started, for the interval by trial

void WarnOfOffers(const PlanOffers& found, Instant now, std::vector<std::string>& warnings) {
  if (!found.unfit.empty()) warnings.push_back("does not fit, left out: " + ListText(found.unfit));
  if (!found.unrated.empty()) warnings.push_back("no time can be estimated, left out: " + ListText(found.unrated));
  if (found.spot_not_offered > 0) {
    warnings.push_back(fmt::format("{} spot prices are no lower than on demand: no offer", found.spot_not_offered));
  }
  if (!found.part_priced.empty()) {
    warnings.push_back("your prices are those of some of these GPUs only, left out: " + ListText(found.part_priced));
  }
  if (found.other_currency > 0) {
    warnings.push_back(
        fmt::format("{} offers of the catalogue are in USD and your prices are not: left out", found.other_currency));
  }
  const auto old = std::count_if(found.offers.begin(), found.offers.end(),
                                 [&](const PlanOffer& offer) { return IsStale(offer.as_of, now); });
  if (old > 0) {
    warnings.push_back(fmt::format("{} of {} prices are older than {} days; bring them up to date with --prices", old,
                                   found.offers.size(), kStaleAfterDays));
  }
}

// What does not fit for sure is recommended only where nothing else is there.
OptionChoice Choose(const PlanOptions& plan) {
  std::vector<RunOption> sure;
  for (const RunOption& option : plan.options) {
    if (plan.offers[option.offer].fit == MemoryFit::kFits) sure.push_back(option);
  }
  if (sure.empty()) return ChooseOption(plan.options, plan.caps);
  OptionChoice choice = ChooseOption(sure, plan.caps);
  if (choice.best) choice.best = sure[*choice.best].offer;
  if (choice.nearest) choice.nearest = sure[*choice.nearest].offer;
  return choice;
}

// The spot offer that intervals are shown for: what is recommended, else the cheapest.
std::optional<std::size_t> ShownSpot(const PlanOptions& plan) {
  const auto spot = [&](std::size_t i) {
    return plan.offers[i].market == Market::kSpot && plan.options[i].interruptions;
  };
  if (plan.choice.best && spot(*plan.choice.best)) return plan.choice.best;
  const auto found = std::find_if(plan.order.begin(), plan.order.end(), spot);
  return found == plan.order.end() ? std::nullopt : std::optional(*found);
}

void SetIntervals(PlanOptions& plan) {
  plan.interval_of = plan.spot.complete() ? ShownSpot(plan) : std::nullopt;
  if (!plan.interval_of) return;
  const RunOffer& offer = plan.offers[*plan.interval_of].run;
  const LaunchFacts& launch = plan.spot.launch;
  if (launch.checkpoint == Hours{} || !plan.options[*plan.interval_of].interval) return;  // it has no best interval
  const CheckpointedWork job{offer.work.likely, *plan.options[*plan.interval_of].interval, launch.checkpoint,
                             launch.restart};
  const Hours mean_uptime = JobMeanUptime(plan.spot.machines->mean_up, offer.nodes);
  plan.daly = DalyTime(job, mean_uptime);
  plan.daly_interval = DalyInterval(launch.checkpoint, mean_uptime);
  plan.availability_interval = AvailabilityOptimalInterval(launch.checkpoint, launch.restart, mean_uptime);
  // Seats of a history are lost one by one; several machines at once are no replay of it.
  if (!plan.spot.history || offer.nodes > 1) return;
  plan.by_history = ChooseInterval(*plan.spot.history, job, launch.unbilled, kHistoryStarts);
}

void WarnOfSpot(PlanOptions& plan) {
  const bool spot = std::any_of(plan.offers.begin(), plan.offers.end(),
                                [](const PlanOffer& offer) { return offer.market == Market::kSpot; });
  plan.warnings.insert(plan.warnings.end(), plan.spot.doubts.begin(), plan.spot.doubts.end());
  if (!spot || plan.spot.complete()) return;
  plan.warnings.push_back("spot costs are without interruptions, the least they can be; to weigh them give " +
                          ListText(plan.spot.missing));
}

}  // namespace

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

std::string_view Name(BilledBasis basis) {
  switch (basis) {
    case BilledBasis::kOnDemand:
      return "on_demand";
    case BilledBasis::kFirstOrder:
      return "first_order";
    case BilledBasis::kSimulation:
      return "simulation";
    case BilledBasis::kMeasuredLoss:
      return "measured_loss";
    case BilledBasis::kNeverInterrupted:
      return "never_interrupted";
  }
  return "";
}

std::string_view Name(CapFit fit) {
  switch (fit) {
    case CapFit::kNoCap:
      return "no_cap";
    case CapFit::kMeets:
      return "meets";
    case CapFit::kTight:
      return "tight";
    case CapFit::kMisses:
      return "misses";
    case CapFit::kUnknown:
      return "unknown";
  }
  return "";
}

}  // namespace idleburn
