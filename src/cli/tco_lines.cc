// Sentences and rows that every writer of `idleburn tco` prints.
#include <fmt/format.h>

#include <algorithm>

#include "cli/tco_output.h"
#include "report/display.h"

namespace idleburn {
namespace {

std::string Paid(Money m, const std::string& currency) {
  return FormatGrouped(m, MinorUnitDigits(currency)) + " " + currency;
}

std::string PaidAbout(double amount, const std::string& currency) {
  const Result<Money> money = Estimate(Money::Nano(1'000'000'000), amount);
  return money ? Paid(*money, currency) : "unknown";
}

std::string Exact(const Fraction& f, int digits) {
  const std::optional<Money> money = f.AsMoney();
  return money ? FormatGrouped(*money, digits) : "unknown";
}

// An amount for one of something: to the minor unit or, where that hides it, to four digits of the unit.
std::string UnitText(Money amount, const std::string& currency) {
  constexpr std::int64_t kFourDigits = 100'000;
  if (std::abs(amount.nano()) < 10 * kFourDigits) return FormatExact(amount, MinorUnitDigits(currency));
  return FormatGrouped(amount, std::max(4, MinorUnitDigits(currency)));
}

std::string MonthsText(const std::optional<Fraction>& months) {
  return months ? FormatExact(months->AsMoney().value_or(Money()), 0) + " months" : "no stated horizon";
}

// Lines, then the contingency, rounded so that the column adds up to its rounded total.
std::vector<Money> PrintedColumn(const TcoScenario& s) {
  std::vector<Money> exact = s.cost.lines;
  exact.push_back(s.cost.contingency);
  const Result<std::vector<Money>> rounded = RoundColumn(exact, MinorUnit(s.plan.currency));
  return rounded ? *rounded : exact;
}

Money SumOf(const std::vector<Money>& amounts) {
  std::int64_t sum = 0;
  for (const Money m : amounts) sum += m.nano();
  return Money::Nano(sum);
}

// What one scenario has in a category: its printed amounts by line name.
struct PrintedCategory {
  bool given = false;
  Money sum;
  std::vector<std::pair<std::string, Money>> lines;
};
PrintedCategory PrintedOf(const TcoScenario& s, const std::vector<Money>& column, CostCategory category) {
  PrintedCategory printed;
  for (std::size_t i = 0; i < s.plan.lines.size(); ++i) {
    if (s.plan.lines[i].category != category) continue;
    printed.given = true;
    printed.sum = Money::Nano(printed.sum.nano() + column[i].nano());
    printed.lines.emplace_back(s.plan.lines[i].name, column[i]);
  }
  return printed;
}

void AddCategory(const TcoAnswer& answer, const std::vector<std::vector<Money>>& columns, CostCategory category,
                 std::vector<TcoRow>& rows) {
  TcoRow whole = {std::string(Name(category)), category, false, {}};
  std::vector<std::string> names;
  std::vector<PrintedCategory> all;
  for (std::size_t s = 0; s < answer.scenarios.size(); ++s) {
    all.push_back(PrintedOf(answer.scenarios[s], columns[s], category));
    const PrintedCategory& printed = all.back();
    std::string cell = FormatGrouped(printed.sum, MinorUnitDigits(answer.scenarios[s].plan.currency));
    if (printed.sum == Money()) cell += printed.given ? " (given)" : " (not given)";
    whole.cells.push_back(cell);
    for (const auto& [name, amount] : printed.lines) {
      if (std::find(names.begin(), names.end(), name) == names.end()) names.push_back(name);
    }
  }
  rows.push_back(std::move(whole));
  if (names.size() < 2 && (names.empty() || names.front() == Name(category))) return;
  for (const std::string& name : names) {
    TcoRow part = {name, category, true, {}};
    for (std::size_t s = 0; s < all.size(); ++s) {
      Money amount;  // a line that a scenario does not have is 0 in it
      for (const auto& [line, money] : all[s].lines) {
        if (line == name) amount = money;
      }
      part.cells.push_back(FormatGrouped(amount, MinorUnitDigits(answer.scenarios[s].plan.currency)));
    }
    if (answer.actuals) part.cells.emplace_back();  // what is paid is known by category
    rows.push_back(std::move(part));
  }
}

// What was paid to date by category, and behind them what no category claims; rounded so that it adds up.
std::vector<Money> PaidColumn(const ActualReport& report, const std::string& currency) {
  std::vector<Money> paid(kCostCategoryCount + 1);
  for (const MonthVariance& month : report.months) {
    Money& sum = paid[month.category ? static_cast<std::size_t>(*month.category) : kCostCategoryCount];
    sum = Money::Nano(sum.nano() + month.actual.nano());
  }
  const Result<std::vector<Money>> rounded = RoundColumn(paid, MinorUnit(currency));
  return rounded ? *rounded : paid;
}

// Puts what was paid behind the scenarios.
void AddPaid(const TcoAnswer& answer, std::vector<TcoRow>& rows) {
  const std::string& currency = answer.scenarios.front().plan.currency;
  const int digits = MinorUnitDigits(currency);
  const std::vector<Money> paid = PaidColumn(*answer.actuals, currency);
  for (TcoRow& row : rows) {
    if (row.part) continue;
    if (row.category) {
      row.cells.push_back(FormatGrouped(paid[static_cast<std::size_t>(*row.category)], digits));
    } else {
      row.cells.push_back(row.label == "contingency" ? "" : FormatGrouped(SumOf(paid), digits));
    }
  }
  if (paid.back() == Money()) return;
  TcoRow rest = {"unallocated", {}, false, std::vector<std::string>(answer.scenarios.size())};
  rest.cells.push_back(FormatGrouped(paid.back(), digits));
  rows.insert(rows.end() - 3, std::move(rest));
}

}  // namespace

std::vector<std::string> TcoColumns(const TcoAnswer& answer) {
  std::vector<std::string> headers;
  for (const TcoScenario& s : answer.scenarios) headers.push_back(s.plan.name + " " + s.plan.currency);
  if (answer.actuals) headers.push_back("actual to date " + answer.scenarios.front().plan.currency);
  return headers;
}

std::vector<TcoRow> TcoRows(const TcoAnswer& answer) {
  std::vector<std::vector<Money>> columns;
  for (const TcoScenario& s : answer.scenarios) columns.push_back(PrintedColumn(s));
  std::vector<TcoRow> rows;
  for (std::size_t c = 0; c < kCostCategoryCount; ++c) {
    AddCategory(answer, columns, static_cast<CostCategory>(c), rows);
  }
  TcoRow subtotal = {"subtotal", {}, false, {}};
  TcoRow contingency = {"contingency", {}, false, {}};
  TcoRow total = {"total", {}, false, {}};
  for (std::size_t s = 0; s < columns.size(); ++s) {
    const int digits = MinorUnitDigits(answer.scenarios[s].plan.currency);
    const Money all = SumOf(columns[s]);
    const Money extra = columns[s].back();
    subtotal.cells.push_back(FormatGrouped(Money::Nano(all.nano() - extra.nano()), digits));
    contingency.cells.push_back(fmt::format("{} ({:.4g} %)", FormatGrouped(extra, digits),
                                            100 * answer.scenarios[s].cost.contingency_rate.AsDouble()));
    total.cells.push_back(FormatGrouped(all, digits));
  }
  rows.push_back(std::move(subtotal));
  rows.push_back(std::move(contingency));
  rows.push_back(std::move(total));
  if (answer.actuals) AddPaid(answer, rows);
  return rows;
}

std::string TcoVerdict(const TcoAnswer& answer) {
  const TcoScenario& first = answer.scenarios.front();
  std::string text = fmt::format("{} costs {} over {}.", first.plan.name, Paid(first.cost.total, first.plan.currency),
                                 MonthsText(first.plan.months));
  for (std::size_t i = 1; i < answer.scenarios.size(); ++i) {
    const TcoScenario& other = answer.scenarios[i];
    text += fmt::format(" {}: {}", other.plan.name, Paid(other.cost.total, other.plan.currency));
    const std::optional<double> saved = SavedShare(first.cost, other.cost);
    if (saved && other.plan.currency == first.plan.currency) {
      text += fmt::format(", {:.3f} % {}", 100 * std::abs(*saved), *saved < 0 ? "more" : "less");
    }
    text += ".";
  }
  return text;
}

std::vector<std::string> TcoUncertaintyLines(const TcoScenario& s) {
  std::vector<std::string> lines;
  if (!s.draws) return lines;
  const std::string& c = s.plan.currency;
  lines.push_back(
      fmt::format("{}: half of {} draws (seed {}) come to at most {}, one in ten to at most {}, nine in "
                  "ten to at most {}; before contingency, which stands for the same uncertainty: add one of "
                  "them, never both",
                  s.plan.name, s.draws->count, s.draws->seed, PaidAbout(s.draws->p50, c), PaidAbout(s.draws->p10, c),
                  PaidAbout(s.draws->p90, c)));
  const PertEstimate pert = PertOf(s.plan);
  lines.push_back(fmt::format("{}: three-point mean {} without risks, standard deviation {}", s.plan.name,
                              PaidAbout(pert.mean, c), PaidAbout(pert.deviation, c)));
  if (s.draws->over_budget && s.plan.budget) {
    lines.push_back(fmt::format("{}: the chance to exceed the budget of {} is {:.1f} %", s.plan.name,
                                Paid(*s.plan.budget, c), 100 * *s.draws->over_budget));
  }
  for (std::size_t i = 0; i < std::min<std::size_t>(s.tornado.size(), 3); ++i) {
    const TornadoBar& bar = s.tornado[i];
    lines.push_back(fmt::format("{}: {} from low to high moves the total from {} to {}", s.plan.name, bar.figure,
                                Paid(bar.low, c), Paid(bar.high, c)));
  }
  return lines;
}

std::vector<std::string> TcoLeverLines(const TcoScenario& s) {
  constexpr std::size_t kTop = 3;
  std::vector<std::string> lines;
  for (std::size_t i = 0; i < std::min(s.plan.alone.size(), kTop); ++i) {
    const LeverSaving& lever = s.plan.alone[i];
    lines.push_back(fmt::format("{}: {} alone saves {}", s.plan.name, lever.name, Paid(lever.saves, s.plan.currency)));
  }
  return lines;
}

std::vector<std::string> TcoUnitLines(const TcoScenario& s) {
  std::vector<std::string> lines;
  const std::string& c = s.plan.currency;
  const auto add = [&](const std::string& text) { lines.push_back(s.plan.name + ": " + text); };
  for (const UnitCost& unit : UnitCostsOf(s.plan, s.cost)) {
    const std::string amount = unit.amount ? UnitText(*unit.amount, c) + " " + c : "undefined: there is none of it";
    add(fmt::format("{} per {}: {}", unit.of, unit.unit, amount));
  }
  if (const std::optional<Money> wasted = NotBusyCost(s.plan, s.cost)) {
    add("compute that was not busy: " + Paid(*wasted, c));
  }
  for (const HourlyProjection& p : ProjectionsOf(s.plan)) {
    add(fmt::format("{}: {} an hour is {} a month of {} h, {} in twelve of them, {} in a year of 8,760 h", p.line,
                    FormatExact(p.hour, 2), FormatGrouped(p.month, 2), s.plan.month_hours,
                    FormatGrouped(p.twelve_months, 2), Paid(p.year, c)));
  }
  for (const ReplicaCount& count : ReplicasOf(s.plan)) {
    std::string text = fmt::format("{}: {} replicas for the peak", count.line, Exact(count.replicas, 0));
    if (count.floor_a_month) text += "; the fewest cost " + Paid(*count.floor_a_month, c) + " a month at no load";
    add(text);
  }
  for (const ServingCrossing& crossing : CrossingsOf(s.plan, s.cost)) {
    add(fmt::format("{}: serving {} {} costs as much as all compute", crossing.line, Exact(crossing.count, 0),
                    crossing.unit));
  }
  for (const PlanLine& line : s.plan.lines) {
    const std::optional<Fraction> carbon = CarbonOf(s.plan, line);
    if (carbon) add(fmt::format("{} emits {} kg CO2e", line.Key(), Exact(*carbon, 1)));
  }
  if (s.cost.monthly_after_launch != Money()) {
    add(fmt::format("{} a month recur after launch", Paid(s.cost.monthly_after_launch, c)));
  }
  return lines;
}

std::vector<std::string> TcoOwnLines(const OwnOffer& offer, const std::string& currency) {
  const OwnYear year = YearOf(offer);
  std::vector<std::string> lines;
  lines.push_back(fmt::format("a year: {} {} = depreciation {}, energy {}, support {}, space {}, staff {}, capital {}",
                              Exact(year.total, 3), currency, Exact(year.depreciation, 3), Exact(year.energy, 3),
                              Exact(year.support, 3), Exact(year.space, 3), Exact(year.staff, 3),
                              Exact(year.capital, 3)));
  if (!offer.not_given.empty()) {
    std::string names;
    for (const std::string& name : offer.not_given) names += (names.empty() ? "" : ", ") + name;
    lines.push_back("not given: " + names);
  }
  for (const Fraction& use : offer.utilisations) {
    lines.push_back(fmt::format("a delivered GPU-hour at {} % use: {} {}", Exact(use * Fraction::Of(100, 1), 0),
                                Exact(PerDeliveredHour(offer, use), 6), currency));
  }
  for (const Fraction& cloud : offer.cloud) {
    const Fraction use = BreakEvenUse(offer, cloud);
    const std::optional<Fraction> months = PaybackMonths(offer, cloud);
    std::string line = fmt::format("against {} {} a GPU-hour: owning is cheaper from {} % use", Exact(cloud, 2),
                                   currency, Exact(use * Fraction::Of(100, 1), 3));
    if (Compare(use, Fraction::Of(1, 1)) > 0) line += ", so never: the cloud wins at that price";
    line += fmt::format("; at {} % use it pays back ", Exact(offer.payback_at * Fraction::Of(100, 1), 0));
    line += months ? fmt::format("in {} months of {} h", Exact(*months, 3), offer.month_hours) : "never";
    if (months && Compare(*months, offer.life_years * Fraction::Of(12, 1)) > 0) line += ", longer than it lives";
    lines.push_back(line);
  }
  lines.emplace_back("GPU prices fall: for the later years take the price then, not today's");
  return lines;
}

std::vector<std::string> TcoMonthHeaders(const std::string& currency) {
  return {"Month", "Category", "plan " + currency, "actual", "variance", "of plan"};
}

std::vector<std::vector<std::string>> TcoMonthRows(const ActualReport& report, const std::string& currency) {
  const int digits = MinorUnitDigits(currency);
  std::vector<std::vector<std::string>> rows;
  for (const MonthVariance& month : report.months) {
    const std::string share = month.plan == Money()
                                  ? "undefined"
                                  : fmt::format("{:+.1f} %", 100 * static_cast<double>(month.variance.nano()) /
                                                                 static_cast<double>(month.plan.nano()));
    rows.push_back({month.month + (month.open ? " (open)" : ""),
                    month.category ? std::string(Name(*month.category)) : "unallocated",
                    FormatGrouped(month.plan, digits), FormatGrouped(month.actual, digits),
                    FormatGrouped(month.variance, digits), share});
  }
  return rows;
}

std::vector<std::string> TcoActualLines(const ActualReport& report, const std::string& currency) {
  std::vector<std::string> lines;
  lines.push_back(fmt::format("{} to date of {} planned without contingency (by {})", Paid(report.actual, currency),
                              Paid(report.plan, currency), report.column));
  for (const PriceAndQuantity& part : report.parts) {
    lines.push_back(fmt::format("{}: variance by price {}, by quantity {}", Name(part.category),
                                Paid(part.price, currency), Paid(part.quantity, currency)));
  }
  if (report.efficiency && report.at_completion) {
    lines.push_back(fmt::format("cost efficiency {:.6f}: at completion {} if it stays so", *report.efficiency,
                                Paid(*report.at_completion, currency)));
  }
  if (report.at_completion_if_as_planned) {
    lines.push_back("at completion " + Paid(*report.at_completion_if_as_planned, currency) +
                    " if the rest goes as planned");
  }
  if (report.burn_a_day) {
    std::string line =
        fmt::format("{} a day in the last {} days", Paid(*report.burn_a_day, currency), report.burn_days);
    if (report.runway_days) line += fmt::format("; the budget lasts {:.1f} days more", *report.runway_days);
    lines.push_back(line);
  }
  for (const auto& [month, error] : report.forecast_errors) {
    lines.push_back(fmt::format("{}: the plan missed what was paid by {:+.1f} %", month, 100 * error));
  }
  return lines;
}

std::vector<std::string> TcoBasisLines(const TcoAnswer& answer) {
  std::vector<std::string> lines;
  for (const TcoScenario& s : answer.scenarios) {
    lines.push_back(fmt::format("{}: {}, in {}, months of {} h", s.plan.name, MonthsText(s.plan.months),
                                s.plan.currency, s.plan.month_hours));
    for (const PlanLine& line : s.plan.lines) {
      if (!line.basis.empty()) lines.push_back(fmt::format("{}: {}: {}", s.plan.name, line.Key(), line.basis));
    }
    for (const PlanLever& lever : s.plan.levers) {
      lines.push_back(
          fmt::format("{}: {} on {}: {} ({})", s.plan.name, lever.name, lever.line, lever.how, lever.evidence));
    }
  }
  return lines;
}

}  // namespace idleburn
