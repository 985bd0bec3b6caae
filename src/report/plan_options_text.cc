#include <fmt/format.h>

#include <algorithm>

#include "price/find_rate.h"
#include "report/plan_output.h"
#include "text/figures.h"
#include "text/strings.h"

// The advice of a plan: which GPUs to rent, in which market, and how often to checkpoint. It begins with one option,
// the cheapest that keeps the caps. The table then lists every option, so that a reader can disagree.
//
// Costs have a 90 % interval, and wall times have two quantiles. A single number was rejected: with interruptions the
// time of a run varies by far more than its price, and a deadline is kept or missed at the 95th percentile.
//
// An unknown is said and never filled in. Without a rate of losses, the cost on spot capacity is given by overhead, so
// the reader can apply an own estimate (docs/spot.md).

namespace idleburn {
namespace {

// A wall time, or the time between checkpoints.
std::string HoursText(Hours span) { return SecondsForPeople(span.count() * 3600); }
// An option whose interruptions are not known has no wall time.
std::string HoursOrUnknown(const std::optional<Hours>& hours) { return hours ? HoursText(*hours) : "unknown"; }

// "8 x H100 SXM on demand".
std::string NameOf(const PlanOffer& offer) {
  return fmt::format("{} x {} {}", offer.run.gpus, offer.run.gpu,
                     offer.market == Market::kOnDemand ? "on demand" : Name(offer.market));
}

// Whether GPUs are paid for and not used, because machines are rented whole.
bool RentsMore(const PlanOffer& offer) { return offer.rented_gpus.value_or(0) > offer.run.gpus; }

// ", 2 x 8-GPU machines, 12 used". Empty if all rented GPUs are used. Clouds rent machines of 1, 2, 4 or 8 GPUs, and
// the unused ones are paid for.
std::string MachineText(const PlanOffer& offer) {
  if (!RentsMore(offer)) return "";
  const int each = *offer.rented_gpus / offer.run.nodes;
  return fmt::format(", {}{}-GPU machine{}, {} used",
                     offer.run.nodes > 1 ? std::to_string(offer.run.nodes) + " x " : "", each,
                     offer.run.nodes > 1 ? "s" : "", offer.run.gpus);
}

// What an option costs and takes. The median and the 95th percentile of the wall time differ by interruptions.
// GPU-hours and the source of the price let a reader compute the cost again.
std::string Facts(const PlanOffer& offer, const RunOption& option) {
  // A stated rate has no interval.
  const bool sure = option.cost->low == option.cost->high;
  const std::string interval =
      sure ? "" : ", " + AmountInterval(option.cost->low, option.cost->high, offer.currency) + " (90 %)";
  return fmt::format("{}{}; median {}, p95 {}; {}; {}{}, {}", Amount(option.cost->likely, offer.currency), interval,
                     HoursOrUnknown(option.wall_p50), HoursOrUnknown(option.wall_p95),
                     GpuHoursForPeople(option.gpu_hours->likely.count()), offer.price_key, MachineText(offer),
                     DayOrUndated(offer.as_of));
}

// The caps that were given, in one phrase.
std::string CapsText(const OptionCaps& caps, const std::string& currency) {
  std::vector<std::string> parts;
  if (caps.deadline) parts.push_back("deadline " + HoursOrUnknown(caps.deadline));
  if (caps.budget) parts.push_back("budget " + Amount(*caps.budget, currency));
  if (caps.gpu_hours) parts.push_back(GpuHoursForPeople(caps.gpu_hours->count()));
  return ListText(parts);
}

// A budget as the GPU-hours that it buys at this offer's price. A reader plans in hours, a manager in money.
std::string BudgetHours(const OptionCaps& caps, const PlanOffer& offer) {
  if (!caps.budget) return "";
  return fmt::format(" (at most {} at this price)",
                     GpuHoursForPeople(MaxGpuHours(*caps.budget, offer.run.per_gpu_hour)));
}

// The nearest deadline that some option can meet. Nothing without a deadline, or if an option already meets it. A
// deadline that nobody can meet needs an answer, not only a refusal.
void AddSoonest(const PlanOptions& plan, std::vector<std::string>* lines) {
  std::optional<std::size_t> soonest;
  for (std::size_t i = 0; i < plan.options.size(); ++i) {
    const std::optional<Hours>& wall = plan.options[i].wall_p95;
    if (wall && (!soonest || *wall < *plan.options[*soonest].wall_p95)) soonest = i;
  }
  if (!plan.caps.deadline || !soonest || *plan.options[*soonest].wall_p95 <= *plan.caps.deadline) return;
  lines->push_back(fmt::format("The nearest feasible deadline is {} ({}).",
                               HoursOrUnknown(plan.options[*soonest].wall_p95), NameOf(plan.offers[*soonest])));
}

// Which option to take and why. If none keeps the caps, the nearest one and by how much it misses. "Likely kept" means
// that a cap lies within the interval.
void AddChoice(const PlanOptions& plan, std::vector<std::string>* lines) {
  const std::string caps = CapsText(plan.caps, plan.currency);
  const OptionChoice& choice = plan.choice;
  if (choice.best) {
    const PlanOffer& offer = plan.offers[*choice.best];
    lines->push_back(fmt::format("Take {}: {}.", NameOf(offer), Facts(offer, plan.options[*choice.best])));
    if (offer.fit == MemoryFit::kTight) lines->emplace_back("Its memory is tight: it may run out.");
    if (caps.empty()) return;
    lines->push_back(fmt::format("It {}: {}{}.",
                                 choice.tight ? "may miss the caps, which lie within its interval" : "keeps the caps",
                                 caps, BudgetHours(plan.caps, offer)));
    return;
  }
  if (!choice.nearest) return lines->emplace_back("No recommendation: the cost of every option is unknown."), void();
  const PlanOffer& offer = plan.offers[*choice.nearest];
  // What is several times a cap is no offer for it.
  constexpr double kFarBeyond = 1;
  if (choice.overshoot > kFarBeyond) {
    lines->push_back(fmt::format("No option keeps the caps ({}), or comes near: the nearest is {} beyond.", caps,
                                 PercentText(choice.overshoot)));
    AddSoonest(plan, lines);
    return;
  }
  lines->push_back(fmt::format("No option keeps the caps ({}). Nearest, {} beyond: {}: {}.", caps,
                               PercentText(choice.overshoot), NameOf(offer),
                               Facts(offer, plan.options[*choice.nearest])));
  AddSoonest(plan, lines);
}

// The spot advice if the rate of lost machines is unknown: the cost at several overheads, and the overhead at
// which the discount is gone. Empty without such an option.
std::vector<std::string> UnknownSpot(const PlanOptions& plan) {
  for (const std::size_t i : plan.order) {
    const RunOption& option = plan.options[i];
    if (option.basis != BilledBasis::kNeverInterrupted || !option.break_even) continue;
    const PlanOffer& offer = plan.offers[i];
    std::vector<std::string> costs;
    for (const double overhead : kShownOverheads) {
      const Result<Money> cost = CostOf(offer.run.per_gpu_hour, option.gpu_hours->likely.count() * (1 + overhead));
      if (!cost) return {};
      costs.push_back(Amount(*cost, plan.currency) + " at " + StatedPercent(overhead));
    }
    return {fmt::format("No data on how often {} is lost. It costs {} overhead; spot is cheaper below {}.",
                        NameOf(offer), ListText(costs), PercentText(*option.break_even))};
  }
  return {};
}

// The spot advice for the option whose interval was computed: expected interruptions (Poisson), overhead, and how often
// to checkpoint (docs/spot.md). The last sentence names what must be true before any of it counts: the job must survive
// an interruption.
std::vector<std::string> PlanSpotLines(const PlanOptions& plan) {
  if (!plan.interval_of) return UnknownSpot(plan);
  const std::size_t i = *plan.interval_of;
  const RunOption& option = plan.options[i];
  std::vector<std::string> lines = {
      fmt::format("{}: {}; {}.", NameOf(plan.offers[i]), plan.spot.machines_from, plan.spot.launch_from)};
  if (option.overhead) {
    std::string text =
        fmt::format("{} interruptions expected (none in {} of runs, at most 2 in {}), overhead {}",
                    ThreeDigits(*option.interruptions), PercentText(PoissonExactly(0, *option.interruptions)),
                    PercentText(PoissonAtMost(2, *option.interruptions)), PercentText(*option.overhead));
    if (option.break_even) text += "; spot is cheaper below " + PercentText(*option.break_even);
    if (option.saving) text += ", and is expected to save " + PercentText(*option.saving);
    lines.push_back(text + ".");
  }
  if (option.interval) {
    std::string text = fmt::format("Checkpoint every {}{}", HoursText(*option.interval),
                                   plan.spot.launch.interval ? " (as given)" : " (Young)");
    if (plan.daly_interval && plan.availability_interval) {
      text += fmt::format("; by Daly {}, best for availability {}; expected time by Daly {}",
                          HoursText(*plan.daly_interval), HoursText(*plan.availability_interval),
                          HoursOrUnknown(plan.daly));
    }
    lines.push_back(text + ".");
  }
  if (plan.by_history) {
    lines.push_back(fmt::format("Trials on that history: {} is the best of {} intervals; Young's {} costs {} more.",
                                HoursText(plan.by_history->best), plan.by_history->tried,
                                HoursText(plan.by_history->young), PercentText(plan.by_history->regret)));
  }
  lines.emplace_back(
      "Before it starts: pass a drill (idleburn drill), save the state of random numbers and of the data's order, keep "
      "the last checkpoints.");
  return lines;
}

// One option. ">" marks the one to take, "*" one that no other beats in both cost and time. "from" marks a cost that
// holds only if the machine is never lost.
TableRow OptionRow(const PlanOptions& plan, std::size_t i) {
  const PlanOffer& offer = plan.offers[i];
  const RunOption& option = plan.options[i];
  const bool least = option.basis == BilledBasis::kNeverInterrupted;
  const auto hours = [](const std::optional<Hours>& h) { return h ? ThreeDigits(h->count()) : "unknown"; };
  TableRow row = {plan.choice.best == i ? ">"
                  : option.pareto       ? "*"
                                        : "",
                  offer.run.gpu + (offer.fit == MemoryFit::kTight ? " (tight)" : ""),
                  std::to_string(offer.run.gpus) + (RentsMore(offer) ? "/" + std::to_string(*offer.rented_gpus) : ""),
                  std::string(Name(offer.market)),
                  option.gpu_hours ? ThreeDigits(option.gpu_hours->likely.count()) : "unknown",
                  option.cost ? (least ? "from " : "") + Amount(option.cost->likely, plan.currency) : "unknown",
                  hours(option.wall_p50),
                  hours(option.wall_p95),
                  DigitsOrUnknown(option.interruptions),
                  option.interval ? HoursText(*option.interval) : "",
                  UnitPrice(offer.run.per_gpu_hour, offer.currency),
                  DayOrUndated(offer.as_of),
                  offer.price_key};
  if (plan.caps.budget) {
    // Before the source of the price, as in the header.
    row.insert(row.end() - 2, ThreeDigits(MaxGpuHours(*plan.caps.budget, offer.run.per_gpu_hour)));
  }
  return row;
}

// Every option, cheapest first, but the one to take on top, where one screen shows it. Columns that can be spared yield
// on a narrow terminal; --format json has all.
ReportTable OptionTable(const PlanOptions& plan) {
  ReportTable table;
  table.title = "Options";
  table.columns = {{""},
                   {"GPU"},
                   {"n", kRight},
                   {"market"},
                   {"GPU-h", kRight},
                   {"cost", kRight},
                   {"h p50", kRight},
                   {"h p95", kRight},
                   {"losses", kRight, false, true},
                   {"checkpoint", kRight, false, true},
                   {"per used GPU-hour", kRight, true},
                   {"price dated"},
                   {"offer", kLeft, true, true}};
  if (plan.caps.budget) table.columns.insert(table.columns.end() - 2, {"budget GPU-h", kRight, false, true});
  for (const std::size_t i : plan.order) table.rows.push_back(OptionRow(plan, i));
  std::stable_partition(table.rows.begin(), table.rows.end(), [](const TableRow& row) { return row.front() == ">"; });
  table.notes = {
      "> the option to take; * no other option is both cheaper and faster; from: lower bound, without interruptions",
      "Compute only: storage and transfer come on top. Whole machines are priced; 1/8: 1 of 8 GPUs is used."};
  return table;
}

}  // namespace

void AddPlanOptions(const PlanOptions& plan, ReportPage* page) {
  if (!plan.any()) return page->next.emplace_back("No options: no GPU with a known price fits."), void();
  AddChoice(plan, &page->next);
  page->points.push_back({"spot", "Spot machines", PlanSpotLines(plan)});
  page->tables.push_back(OptionTable(plan));
}

}  // namespace idleburn
