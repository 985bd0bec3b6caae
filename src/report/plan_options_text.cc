#include <fmt/format.h>

#include <algorithm>

#include "plan/options.h"
#include "price/find_rate.h"
#include "report/report_page.h"
#include "text/table.h"

// The advice of a plan: which GPUs to rent, in which market, and how often to checkpoint. The text begins with one
// option, the cheapest that keeps the caps. The table then lists every option, so that a reader can disagree.
//
// Costs have a 90 % interval, and wall times have two quantiles. A single number was rejected: with interruptions the
// time of a run varies by far more than its price, and a deadline is kept or missed at the 95th percentile.
//
// An unknown is said and never filled in. Without a rate of losses, the cost on spot capacity is given by overhead, so
// the reader can apply an own estimate (docs/spot.md).

namespace idleburn {
namespace {

// "$2.50", "EUR 2.50": unlike Amount of report/display.h, with the code in front.
std::string AmountWithCode(Money money, const std::string& currency) {
  return (currency == "USD" ? "$" : currency + " ") + FormatGrouped(money, MinorUnitDigits(currency));
}
// Hours with four significant digits. An option whose interruptions are not known has no wall time.
std::string HoursOrUnknown(const std::optional<Hours>& hours) {
  return hours ? fmt::format("{:.4g} h", hours->count()) : "unknown";
}
// A checkpoint interval or its cost: "45 s", "12.5 min", "2.10 h".
std::string CheckpointTimeText(Hours span) {
  const double minutes = span.count() * 60;
  if (minutes < 2) return fmt::format("{:.0f} s", minutes * 60);
  return minutes < 120 ? fmt::format("{:.1f} min", minutes) : fmt::format("{:.2f} h", span.count());
}

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
  return fmt::format(
      "{}, {} to {} (90 %); median {}, p95 {}; {:.4f} "
      "GPU-hours; {}{}, {}",
      AmountWithCode(option.cost->likely, offer.currency), AmountWithCode(option.cost->low, offer.currency),
      AmountWithCode(option.cost->high, offer.currency), HoursOrUnknown(option.wall_p50),
      HoursOrUnknown(option.wall_p95), option.gpu_hours->likely.count(), offer.price_key, MachineText(offer),
      DayOrUndated(offer.as_of));
}

// The caps that were given, in one phrase.
std::string CapsText(const OptionCaps& caps, const std::string& currency) {
  std::string text;
  const auto add = [&](const std::string& part) { text += (text.empty() ? "" : ", ") + part; };
  if (caps.deadline) add("deadline " + HoursOrUnknown(caps.deadline));
  if (caps.budget) add("budget " + AmountWithCode(*caps.budget, currency));
  if (caps.gpu_hours) add(fmt::format("{:.4g} GPU-hours", caps.gpu_hours->count()));
  return text;
}

// A budget as the GPU-hours that it buys at this offer's price. A reader plans in hours, a manager in money.
std::string BudgetHours(const OptionCaps& caps, const PlanOffer& offer) {
  if (!caps.budget) return "";
  return fmt::format(" (at most {:.4f} GPU-hours at this price)", MaxGpuHours(*caps.budget, offer.run.per_gpu_hour));
}

// The nearest deadline that some option can meet. Empty without a deadline, or if an option already meets it. A
// deadline that nobody can meet needs an answer, not only a refusal.
std::string Soonest(const PlanOptions& plan) {
  std::optional<std::size_t> soonest;
  for (std::size_t i = 0; i < plan.options.size(); ++i) {
    const std::optional<Hours>& wall = plan.options[i].wall_p95;
    if (wall && (!soonest || *wall < *plan.options[*soonest].wall_p95)) soonest = i;
  }
  if (!plan.caps.deadline || !soonest || *plan.options[*soonest].wall_p95 <= *plan.caps.deadline) return "";
  return fmt::format("The nearest feasible deadline is {} ({}).\n", HoursOrUnknown(plan.options[*soonest].wall_p95),
                     NameOf(plan.offers[*soonest]));
}

// Which option to take and why. If none keeps the caps, the nearest one and by how much it misses. "Likely kept" means
// that a cap lies within the interval.
std::string ChoiceText(const PlanOptions& plan) {
  const std::string caps = CapsText(plan.caps, plan.currency);
  const OptionChoice& choice = plan.choice;
  if (choice.best) {
    const PlanOffer& offer = plan.offers[*choice.best];
    std::string text = fmt::format("Take {}: {}.\n", NameOf(offer), Facts(offer, plan.options[*choice.best]));
    if (offer.fit == MemoryFit::kTight) text += "Its memory is tight: it may run out.\n";
    if (caps.empty()) return text;
    return text + fmt::format("Caps: {}{}: {}.\n", caps, BudgetHours(plan.caps, offer),
                              choice.tight ? "likely kept, not for sure: they lie within the interval" : "kept");
  }
  if (!choice.nearest) return "No recommendation: the cost of every option is unknown.\n";
  const PlanOffer& offer = plan.offers[*choice.nearest];
  return fmt::format("No option keeps the caps ({}). Nearest, {:.0f} % beyond: {}: {}.\n", caps, 100 * choice.overshoot,
                     NameOf(offer), Facts(offer, plan.options[*choice.nearest])) +
         Soonest(plan);
}

// The spot advice if the rate of lost machines is unknown: the cost at several overheads, and the overhead at
// which the discount is gone. Empty without such an option.
std::string UnknownSpot(const PlanOptions& plan) {
  for (const std::size_t i : plan.order) {
    const RunOption& option = plan.options[i];
    if (option.basis != BilledBasis::kNeverInterrupted || !option.break_even) continue;
    const PlanOffer& offer = plan.offers[i];
    std::string costs;
    for (const double overhead : kShownOverheads) {
      const Result<Money> cost = CostOf(offer.run.per_gpu_hour, option.gpu_hours->likely.count() * (1 + overhead));
      if (!cost) return "";
      costs += fmt::format("{}{} at {:.0f} %", costs.empty() ? "" : ", ", AmountWithCode(*cost, plan.currency),
                           100 * overhead);
    }
    return fmt::format(
        "Spot: no data on how often {} is lost. By overhead: {}; it saves up to an overhead of {:.1f} %.\n",
        NameOf(offer), costs, 100 * *option.break_even);
  }
  return "";
}

// The spot advice for the option whose interval was computed: expected interruptions (Poisson), overhead, and how often
// to checkpoint (docs/spot.md). The last sentence names what must be true before any of it counts: the job must survive
// an interruption.
std::string SpotText(const PlanOptions& plan) {
  if (!plan.interval_of) return UnknownSpot(plan);
  const std::size_t i = *plan.interval_of;
  const RunOption& option = plan.options[i];
  std::string text =
      fmt::format("Spot, {}: {}; {}.\n", NameOf(plan.offers[i]), plan.spot.machines_from, plan.spot.launch_from);
  if (option.overhead) {
    text += fmt::format(
        "{:.2f} interruptions expected (none in {:.3f} % of runs, at most 2 in {:.3f} %), overhead {:.1f} %",
        *option.interruptions, 100 * PoissonExactly(0, *option.interruptions),
        100 * PoissonAtMost(2, *option.interruptions), 100 * *option.overhead);
    if (option.break_even) text += fmt::format("; it saves up to an overhead of {:.1f} %", 100 * *option.break_even);
    if (option.saving) text += fmt::format(", and is expected to save {:.1f} %", 100 * *option.saving);
    text += ".\n";
  }
  if (option.interval) {
    text += fmt::format("Checkpoint every {}{}", CheckpointTimeText(*option.interval),
                        plan.spot.launch.interval ? " (as given)" : " (Young)");
    if (plan.daly_interval && plan.availability_interval) {
      text += fmt::format("; by Daly {}, best for availability {}; expected time by Daly {}",
                          CheckpointTimeText(*plan.daly_interval), CheckpointTimeText(*plan.availability_interval),
                          HoursOrUnknown(plan.daly));
    }
    text += ".\n";
  }
  if (plan.by_history) {
    text += fmt::format("Trials on that history: {} is the best of {} intervals; Young's {} costs {:.2f} % more.\n",
                        CheckpointTimeText(plan.by_history->best), plan.by_history->tried,
                        CheckpointTimeText(plan.by_history->young), 100 * plan.by_history->regret);
  }
  return text +
         "Before it starts: pass a drill (idleburn drill), save the state of random numbers and of the data's "
         "order, keep the last checkpoints.\n";
}

// Wraps each line of the text by itself, so that its line breaks stay. WrapWords alone would join sentences.
std::string Wrapped(const std::string& text, int width) {
  std::string wrapped;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = std::min(text.find('\n', at), text.size());
    for (const std::string& line : WrapWords(text.substr(at, end - at), width)) wrapped += line + "\n";
    at = end + 1;
  }
  return wrapped;
}

// One option. ">" marks the one to take, "*" one that no other beats in both cost and time. "from" marks a cost that
// holds only if the machine is never lost.
TableRow OptionRow(const PlanOptions& plan, std::size_t i) {
  const PlanOffer& offer = plan.offers[i];
  const RunOption& option = plan.options[i];
  const bool least = option.basis == BilledBasis::kNeverInterrupted;
  const auto hours = [](const std::optional<Hours>& h) { return h ? fmt::format("{:.4g}", h->count()) : "unknown"; };
  TableRow row = {plan.choice.best == i ? ">"
                  : option.pareto       ? "*"
                                        : "",
                  offer.run.gpu + (offer.fit == MemoryFit::kTight ? " (tight)" : ""),
                  std::to_string(offer.run.gpus) + (RentsMore(offer) ? "/" + std::to_string(*offer.rented_gpus) : ""),
                  std::string(Name(offer.market)),
                  option.gpu_hours ? fmt::format("{:.4g}", option.gpu_hours->likely.count()) : "unknown",
                  option.cost
                      ? (least ? "from " : "") + FormatGrouped(option.cost->likely, MinorUnitDigits(plan.currency))
                      : "unknown",
                  hours(option.wall_p50),
                  hours(option.wall_p95),
                  option.interruptions ? fmt::format("{:.2f}", *option.interruptions) : "unknown",
                  option.interval ? CheckpointTimeText(*option.interval) : "",
                  FormatMoney(offer.run.per_gpu_hour, 4),
                  DayOrUndated(offer.as_of),
                  offer.price_key};
  if (plan.caps.budget) {
    // Before the source of the price, as in the header.
    row.insert(row.end() - 2, fmt::format("{:.4g}", MaxGpuHours(*plan.caps.budget, offer.run.per_gpu_hour)));
  }
  return row;
}

}  // namespace

// Columns that can be spared yield on a narrow terminal; --format json has all.
std::string PlanOptionsText(const PlanOptions& plan, int width, std::size_t most) {
  if (!plan.any()) return "\nOptions: none. No GPU with a known price fits.\n";
  const std::string unit = plan.currency == "USD" ? "$" : plan.currency;
  std::vector<TableColumn> columns = {{""},
                                      {"GPU"},
                                      {"n", kRight},
                                      {"market"},
                                      {"GPU-h", kRight},
                                      {"cost " + unit, kRight},
                                      {"h p50", kRight},
                                      {"h p95", kRight},
                                      {"losses", kRight, false, true},
                                      {"checkpoint", kRight, false, true},
                                      {unit + "/h per GPU used", kRight},
                                      {"price of"},
                                      {"price", kLeft, true, true}};
  if (plan.caps.budget) columns.insert(columns.end() - 2, {"budget GPU-h", kRight, false, true});
  std::vector<TableRow> rows;
  for (const std::size_t i : plan.order) {
    // The option to take is always there, in its place.
    if (rows.size() < most || plan.choice.best == i) rows.push_back(OptionRow(plan, i));
  }
  const std::size_t left = plan.order.size() - rows.size();
  return "\n" + Wrapped(ChoiceText(plan) + SpotText(plan), width) + "\n" +
         Wrapped("> taken; * no option is both cheaper and faster; from: lower bound, without interruptions\n", width) +
         LayOutTable(columns, rows, width, 0) +
         Wrapped((left > 0 ? fmt::format("and {} more options. ", left) : "") +
                     "Compute only: storage and transfer come on top. Whole machines are priced; 1/8: 1 of 8 GPUs is "
                     "used.\n",
                 width);
}

}  // namespace idleburn
