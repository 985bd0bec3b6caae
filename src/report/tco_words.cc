#include "report/tco_words.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "report/display.h"
#include "tco/figures.h"
#include "text/figures.h"

// A cost plan in sentences, and the amounts that sentences and tables print. Amounts are rounded in one place: a
// sentence must never name another amount than the table below it.
//
// Sentences are built from parts that may have nothing to say; such a part is empty and left out. No sentence is
// printed with a placeholder.
//
// Scenarios in different currencies are never compared: there is no exchange rate in a plan.
namespace idleburn {
namespace {

// Rounds a column to minor units so that it sums to its rounded total. An amount that cannot be rounded stays exact.
std::vector<Money> RoundedColumn(const std::vector<Money>& exact, const std::string& currency) {
  const Result<std::vector<Money>> rounded = RoundColumn(exact, MinorUnit(currency));
  return rounded ? *rounded : exact;
}

// Rounds parts so that they sum to the printed `sum`, which was rounded in another table. If their own rounding misses
// it, the difference goes to the part that its rounding moved furthest to the other side. Example: 0.004 and 0.004
// alone become 0.01 and 0.00. Under a printed sum of 0.00 both become 0.00.
std::vector<Money> PartsOfSum(const std::vector<Money>& exact, Money sum, const std::string& currency) {
  std::vector<Money> parts = RoundedColumn(exact, currency);
  const std::int64_t left = sum.nano() - SumOf(parts).nano();
  if (left == 0) return parts;
  std::size_t furthest = 0;
  // How much rounding took from a part, in the direction of the difference.
  const auto lacks = [&](std::size_t i) { return (exact[i].nano() - parts[i].nano()) * (left > 0 ? 1 : -1); };
  for (std::size_t i = 1; i < parts.size(); ++i) furthest = lacks(i) > lacks(furthest) ? i : furthest;
  parts[furthest] = Money::Nano(parts[furthest].nano() + left);
  return parts;
}

// One amount of every row, as a column.
template <typename Rows, typename Row>
std::vector<Money> RoundedMember(const Rows& rows, Money Row::*amount, const std::string& currency) {
  std::vector<Money> column;
  for (const Row& row : rows) column.push_back(row.*amount);
  return RoundedColumn(column, currency);
}

}  // namespace

// Adds without a check, because the whole was checked.
Money SumOf(const std::vector<Money>& amounts) {
  std::int64_t sum = 0;
  for (const Money m : amounts) sum += m.nano();
  return Money::Nano(sum);
}

PrintedCost PrintedCostOf(const TcoScenario& scenario) {
  PrintedCost printed;
  const std::string& currency = scenario.plan.currency;
  printed.lines = RoundedColumn(scenario.cost.lines, currency);
  for (std::size_t i = 0; i < printed.lines.size(); ++i) {
    Money& sum = printed.categories[static_cast<std::size_t>(scenario.plan.lines[i].category)];
    sum = Money::Nano(sum.nano() + printed.lines[i].nano());
  }
  printed.subtotal = SumOf(printed.lines);
  printed.total = RoundedColumn({scenario.cost.total}, currency).front();
  // The difference of two printed amounts, so that subtotal + contingency = total as printed.
  printed.contingency = Money::Nano(printed.total.nano() - printed.subtotal.nano());
  return printed;
}

PrintedPaid PrintedPaidOf(const ActualReport& report, const std::string& currency) {
  return {RoundedMember(report.categories, &PaidToDate::actual, currency),
          RoundedMember(report.categories, &PaidToDate::at_completion, currency)};
}

PrintedMonths PrintedMonthsOf(const ActualReport& report, const std::string& currency) {
  return {RoundedMember(report.forecast, &MonthForecast::plan, currency),
          RoundedMember(report.forecast, &MonthForecast::expected, currency)};
}

PrintedVariances PrintedVariancesOf(const ActualReport& report, const std::string& currency) {
  const PrintedMonths months = PrintedMonthsOf(report, currency);
  PrintedVariances all;
  for (std::size_t m = 0; m < report.forecast.size(); ++m) {
    PrintedVariances exact;
    for (const MonthVariance& row : report.months) {
      if (row.month != report.forecast[m].month) continue;
      exact.plan.push_back(row.plan);
      exact.actual.push_back(row.actual);
    }
    // A month to come has no rows yet.
    if (exact.plan.empty()) continue;
    const std::vector<Money> plan = PartsOfSum(exact.plan, months.plan[m], currency);
    const std::vector<Money> actual = PartsOfSum(exact.actual, months.expected[m], currency);
    all.plan.insert(all.plan.end(), plan.begin(), plan.end());
    all.actual.insert(all.actual.end(), actual.begin(), actual.end());
  }
  return all;
}

namespace {

// Parts or levers that a sentence names. The tables have all.
constexpr std::size_t kTop = 3;

using NamedAmount = std::pair<std::string, Money>;

// The parts of a scenario, contingency included: those above 0, largest first. Equal parts keep the order of the
// categories.
std::vector<NamedAmount> PartsBySize(const TcoScenario& s) {
  const PrintedCost printed = PrintedCostOf(s);
  std::vector<NamedAmount> parts = {{"contingency", printed.contingency}};
  for (std::size_t c = 0; c < kCostCategoryCount; ++c) parts.emplace_back(kCostCategoryNames[c], printed.categories[c]);
  std::erase_if(parts, [](const NamedAmount& part) { return part.second <= Money(); });
  std::stable_sort(parts.begin(), parts.end(),
                   [](const NamedAmount& a, const NamedAmount& b) { return a.second > b.second; });
  return parts;
}

// The three largest parts with their shares. Empty if the scenario costs nothing. Three parts explain most bills.
std::string LargestText(const TcoScenario& s) {
  std::string text;
  const std::vector<NamedAmount> parts = PartsBySize(s);
  for (std::size_t i = 0; i < std::min(parts.size(), kTop); ++i) {
    text += fmt::format("{}{} {}, {}", text.empty() ? "" : "; ", parts[i].first,
                        Amount(parts[i].second, s.plan.currency), TcoShare(parts[i].second, s.cost.total));
  }
  return text.empty() ? text : s.plan.name + ": " + text;
}

// The categories in which two scenarios differ most. Empty if they do not differ. The sign is said in words: "less" is
// what the other scenario saves.
std::string DifferenceText(const TcoScenario& first, const TcoScenario& other) {
  const PrintedCost here = PrintedCostOf(first);
  const PrintedCost there = PrintedCostOf(other);
  std::vector<NamedAmount> less;
  for (std::size_t c = 0; c < kCostCategoryCount; ++c) {
    less.emplace_back(kCostCategoryNames[c], Money::Nano(here.categories[c].nano() - there.categories[c].nano()));
  }
  std::stable_sort(less.begin(), less.end(), [](const NamedAmount& a, const NamedAmount& b) {
    return std::abs(a.second.nano()) > std::abs(b.second.nano());
  });
  std::string text;
  for (std::size_t i = 0; i < kTop && less[i].second != Money(); ++i) {
    const Money by = Money::Nano(std::abs(less[i].second.nano()));
    text += fmt::format("{}{} {} {}", text.empty() ? "" : "; ", less[i].first, Amount(by, other.plan.currency),
                        less[i].second > Money() ? "less" : "more");
  }
  return text.empty() ? text : other.plan.name + " against " + first.plan.name + ": " + text;
}

// Whether an amount keeps the budget, and by how much. `plan.budget` must have a value. The distance is printed too:
// over by $1 and over by half are different news.
std::string BudgetText(Money amount, const TcoPlan& plan, const char* what) {
  const Money over = Money::Nano(amount.nano() - plan.budget->nano());
  return fmt::format(" {} {} the budget of {} by {}.", what, over > Money() ? "exceeds" : "stays within",
                     Amount(*plan.budget, plan.currency), Amount(Money::Nano(std::abs(over.nano())), plan.currency));
}

// What was paid against what was planned for the same months, and the re-forecast. Categories without any row are
// named, and payments that were only assumed for them are taken out of the plan to date: otherwise the comparison would
// be unfair. Months to come are in the re-forecast only.
std::string PaidSoFarText(const ActualReport& report, const TcoPlan& plan) {
  const PrintedMonths months = PrintedMonthsOf(report, plan.currency);
  Money due;
  for (std::size_t m = 0; m < report.forecast.size(); ++m) {
    if (report.forecast[m].actual) due = Money::Nano(due.nano() + months.plan[m].nano());
  }
  std::string missing;
  for (std::size_t c = 0; c < kCostCategoryCount; ++c) {
    if (!report.categories[c].known) missing += (missing.empty() ? "" : ", ") + std::string(kCostCategoryNames[c]);
  }
  // Categories without any row are taken out of both sides.
  due = Money::Nano(due.nano() - report.assumed.nano());
  std::string text = fmt::format(" Paid to date{}: {} against {} planned for these months",
                                 missing.empty() ? "" : " (no rows for " + missing + ")",
                                 Amount(report.actual, plan.currency), Amount(due, plan.currency));
  text += fmt::format("; re-forecast {} against {} planned in all before contingency",  //
                      Amount(report.expected, plan.currency), Amount(report.plan, plan.currency));
  const double change =
      static_cast<double>(report.expected.nano()) / std::max(static_cast<double>(report.plan.nano()), 1.0) - 1;
  if (report.plan > Money()) text += " (" + SignedPercent(change) + ")";
  return text + ".";
}

// The category that is furthest from its plan to date, split into price and quantity if that is known. Empty if nothing
// is off. Price and quantity ask for different people: the one who buys and the one who uses.
std::string FurthestText(const ActualReport& report, const std::string& currency) {
  std::map<std::string, Money> off;
  for (const MonthVariance& month : report.months) {
    Money& sum = off[month.category ? std::string(Name(*month.category)) : "unallocated"];
    sum = Money::Nano(sum.nano() + month.variance.nano());
  }
  const auto most = std::max_element(off.begin(), off.end(), [](const auto& a, const auto& b) {
    return std::abs(a.second.nano()) < std::abs(b.second.nano());
  });
  if (most == off.end() || most->second == Money()) return {};
  std::string text = fmt::format("{} is furthest from its plan to date: {} {}", most->first,
                                 Amount(Money::Nano(std::abs(most->second.nano())), currency),
                                 most->second > Money() ? "above" : "below");
  for (const PriceAndQuantity& part : report.parts) {
    if (Name(part.category) != most->first) continue;
    text +=
        fmt::format(", {} by price and {} by quantity", Amount(part.price, currency), Amount(part.quantity, currency));
  }
  return text;
}

// What an hourly line costs a month and a year. A year has 8,760 hours, which is more than twelve months of 720
// hours, so both are printed.
void AddProjections(const TcoScenario& s, std::vector<std::string>& lines) {
  for (const HourlyProjection& p : ProjectionsOf(s.plan)) {
    lines.push_back(
        fmt::format("{}: {}: {} an hour is {} a month of {} h, {} in twelve of them, {} in a year of 8,760 h",
                    s.plan.name, p.line, UnitPrice(p.hour, s.plan.currency), Amount(p.month, s.plan.currency),
                    s.plan.month_hours, Amount(p.twelve_months, s.plan.currency), Amount(p.year, s.plan.currency)));
  }
}

}  // namespace

// Estimate converts a double exactly once; arithmetic on drawn amounts stays in doubles until then.
std::string TcoAbout(double amount, const std::string& currency) {
  const Result<Money> money = Estimate(Money::Nano(1'000'000'000), amount);
  return money ? Amount(*money, currency) : "unknown";
}

std::string TcoShare(Money part, Money whole) {
  return PercentText(static_cast<double>(part.nano()) / static_cast<double>(whole.nano()));
}

std::string TcoMonthsText(const std::optional<Fraction>& months) {
  if (!months) return "no stated horizon";
  return DecimalText(*months) + (Compare(*months, Fraction::Of(1, 1)) == 0 ? " month" : " months");
}

// What the first scenario costs, how the others differ, and whether payments and budget agree. A file with [own] alone
// has no scenario to speak of.
std::string TcoVerdict(const TcoAnswer& answer) {
  const TcoScenario& first = answer.scenarios.front();
  // A file with [own] only asks a single question: what does owning cost.
  if (first.plan.lines.empty() && answer.own) {
    const Fraction& use = answer.own->utilisations.front();
    return fmt::format("Owning costs {} a year, {} a delivered GPU-hour at {} use.",
                       TcoAbout(YearOf(*answer.own).total.AsDouble(), first.plan.currency),
                       UnitPrice(PerDeliveredHour(*answer.own, use).AsDouble(), first.plan.currency),
                       StatedPercent(use.AsDouble()));
  }
  std::string text = fmt::format("{} costs {} over {}.", first.plan.name, Amount(first.cost.total, first.plan.currency),
                                 TcoMonthsText(first.plan.months));
  for (std::size_t i = 1; i < answer.scenarios.size(); ++i) {
    const TcoScenario& other = answer.scenarios[i];
    text += fmt::format(" {}: {}", other.plan.name, Amount(other.cost.total, other.plan.currency));
    const std::optional<double> saved = SavedShare(first.cost, other.cost);
    if (saved && other.plan.currency == first.plan.currency) {
      text += fmt::format(", {} {}", PercentText(std::abs(*saved)), *saved < 0 ? "more" : "less");
    }
    text += ".";
  }
  // The budget is compared with the plan until payments are known, then with the re-forecast.
  if (!answer.actuals) return first.plan.budget ? text + BudgetText(first.cost.total, first.plan, "The plan") : text;
  text += PaidSoFarText(*answer.actuals, first.plan);
  if (first.plan.budget) text += BudgetText(answer.actuals->expected, first.plan, "The re-forecast");
  return text;
}

// The largest parts, the largest differences, and the most uncertain figure. Payments come first if there are any: they
// are facts.
std::vector<std::string> TcoWhy(const TcoAnswer& answer) {
  const TcoScenario& first = answer.scenarios.front();
  const std::string& c = first.plan.currency;
  std::vector<std::string> why = {LargestText(first)};
  for (std::size_t i = 1; i < answer.scenarios.size(); ++i) {
    if (answer.scenarios[i].plan.currency == c) why.push_back(DifferenceText(first, answer.scenarios[i]));
  }
  if (answer.actuals) why.insert(why.begin(), FurthestText(*answer.actuals, c));
  if (first.draws) {
    why.push_back(fmt::format("nine in ten draws of {} come to at most {} before contingency", first.plan.name,
                              TcoAbout(first.draws->p90, c)));
  }
  if (!first.tornado.empty()) {
    const TornadoBar& bar = first.tornado.front();
    why.push_back(fmt::format("{} matters most: from its low to its high end the total goes from {}", bar.figure,
                              AmountInterval(bar.low, bar.high, c)));
  }
  // Sentences with nothing to say are empty.
  std::erase(why, "");
  return why;
}

// What to do, by urgency: a budget that runs out, then the largest levers, then buy or rent.
std::vector<std::string> TcoNext(const TcoAnswer& answer) {
  std::vector<std::string> next;
  const std::optional<Money>& budget = answer.scenarios.front().plan.budget;
  if (answer.actuals && answer.actuals->runway_days && budget && answer.actuals->expected > *budget) {
    const double days = std::max(*answer.actuals->runway_days, 0.0);
    next.push_back(fmt::format("raise the budget or cut the remaining work: at {} a day it lasts {} days more",
                               Amount(*answer.actuals->burn_a_day, answer.scenarios.front().plan.currency),
                               ThreeDigits(days)));
  }
  for (const TcoScenario& s : answer.scenarios) {
    for (std::size_t i = 0; i < std::min(s.plan.alone.size(), kTop); ++i) {
      const LeverSaving& lever = s.plan.alone[i];
      if (lever.saves <= Money()) continue;
      std::string line = fmt::format("{} alone would save {}", lever.name, Amount(lever.saves, s.plan.currency));
      if (!lever.edits.empty() && !lever.edits.front().todo.empty()) line += ": " + lever.edits.front().todo;
      next.push_back(std::move(line));
    }
  }
  if (next.empty() && !answer.own) next.emplace_back("write a [[variant]] with levers, to see what each would save");
  if (answer.own) {
    for (const Fraction& cloud : answer.own->cloud) {
      const Fraction use = BreakEvenUse(*answer.own, MeanPrice(*answer.own, cloud));
      const bool never = Compare(use, Fraction::Of(1, 1)) > 0;
      const std::string rented = UnitPrice(cloud.AsDouble(), answer.scenarios.front().plan.currency);
      next.push_back(never ? fmt::format("at {} a GPU-hour rent: owning costs more even when always busy", rented)
                           : fmt::format("at {} a GPU-hour buy only if jobs get more than {} of its GPU-hours", rented,
                                         PercentText(use.AsDouble())));
    }
  }
  return next;
}

// What a unit of work costs and emits, and what serving needs.
std::vector<std::string> TcoUnitLines(const TcoScenario& s) {
  std::vector<std::string> lines;
  const std::string& c = s.plan.currency;
  const auto add = [&](const std::string& text) { lines.push_back(s.plan.name + ": " + text); };
  for (const UnitCost& unit : UnitCostsOf(s.plan, s.cost)) {
    const std::string amount = unit.amount ? UnitPrice(*unit.amount, c) : "undefined: the amount is 0";
    add(fmt::format("{} per {}: {}", unit.of, unit.unit, amount));
  }
  if (const std::optional<Money> wasted = NotBusyCost(s.plan, s.cost)) {
    add("compute that was not busy: " + Amount(*wasted, c));
  }
  AddProjections(s, lines);
  for (const ReplicaCount& count : ReplicasOf(s.plan)) {
    std::string text = fmt::format("{}: {} replicas for the peak, which uses {} of them", count.line,
                                   ThreeDigits(count.replicas.AsDouble()), PercentText(count.use.AsDouble()));
    if (count.floor_a_month) text += "; the fewest cost " + Amount(*count.floor_a_month, c) + " a month at no load";
    add(text);
  }
  for (const ServingCrossing& crossing : CrossingsOf(s.plan, s.cost)) {
    add(fmt::format("{}: serving {} {} costs as much as all compute", crossing.line,
                    ThreeDigits(crossing.count.AsDouble()), crossing.unit));
  }
  for (const PlanLine& line : s.plan.lines) {
    const std::optional<Fraction> carbon = CarbonOf(s.plan, line);
    if (carbon) add(fmt::format("{} emits {} kg CO2e", line.Key(), ThreeDigits(carbon->AsDouble())));
  }
  if (s.cost.monthly_after_launch != Money()) {
    add(fmt::format("{} a month recur after launch", Amount(s.cost.monthly_after_launch, c)));
  }
  return lines;
}

// The state of the payments. Two expectations are printed, because past deviations may or may not go on.
std::vector<std::string> TcoActualLines(const ActualReport& report, const std::string& currency) {
  std::vector<std::string> lines;
  lines.push_back(fmt::format("{} to date of {} planned without contingency (by {})", Amount(report.actual, currency),
                              Amount(report.plan, currency), report.column));
  for (const PriceAndQuantity& part : report.parts) {
    lines.push_back(fmt::format("{}: variance by price {}, by quantity {}", Name(part.category),
                                Amount(part.price, currency), Amount(part.quantity, currency)));
  }
  if (report.efficiency && report.at_completion) {
    lines.push_back(fmt::format("cost efficiency {}: at completion {} if it does not change",
                                ThreeDigits(*report.efficiency), Amount(*report.at_completion, currency)));
  }
  lines.push_back("at completion " + Amount(report.at_completion_if_as_planned, currency) +
                  " if the rest goes as planned");
  if (report.burn_a_day) {
    std::string line =
        fmt::format("{} a day in the last {} days", Amount(*report.burn_a_day, currency), report.burn_days);
    if (report.runway_days && *report.runway_days <= 0) {
      line += "; the budget is spent";
    } else if (report.runway_days) {
      line += "; the budget lasts " + ThreeDigits(*report.runway_days) + " days more";
    }
    lines.push_back(line);
  }
  for (const auto& [month, error] : report.forecast_errors) {
    lines.push_back(fmt::format("{}: the plan missed the payments by {}", month, SignedPercent(error)));
  }
  return lines;
}

std::vector<std::string> TcoBasisLines(const TcoAnswer& answer) {
  std::vector<std::string> lines;
  for (const TcoScenario& s : answer.scenarios) {
    lines.push_back(fmt::format("{}: {}, in {}, months of {} h", s.plan.name, TcoMonthsText(s.plan.months),
                                s.plan.currency, s.plan.month_hours));
  }
  lines.emplace_back("contingency: its rate applies to all lines but risks, which are priced already");
  if (answer.actuals) {
    lines.emplace_back(answer.actuals->at_completion
                           ? "re-forecast: plan / cost efficiency, without contingency; the remaining payments follow "
                             "the plan's categories and months"
                           : "re-forecast: paid to date + plan of the remaining months, without contingency");
  }
  return lines;
}

}  // namespace idleburn
