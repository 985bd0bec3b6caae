#include <fmt/format.h>

#include <algorithm>

#include "report/display.h"
#include "report/report_page.h"
#include "report/tco_words.h"
#include "tco/figures.h"
#include "text/figures.h"
#include "text/strings.h"

// The tables of `idleburn tco`. Amounts are rounded once for a whole column (report/tco_words.h), so the column adds
// up. A table takes its amounts from there and rounds nothing by itself.
//
// Scenarios are columns and lines are rows, because a reader compares the same line across scenarios. Lines are matched
// by name; a line that one scenario lacks is 0 there.
//
// Words for missing figures are used alike in all tables: "not given" is a cost that nobody planned, "no data" is a
// payment that nobody reported, and "undefined" is a quotient by 0.
namespace idleburn {
namespace {

// A column with a header. Only columns of sentences wrap.
TableColumn Column(std::string header, TableColumn::Align align, bool wraps = false) {
  TableColumn column;
  column.header = std::move(header);
  column.align = align;
  column.wraps = wraps;
  return column;
}

// What one scenario has in a category: its printed amounts by the name of the line.
struct PrintedCategory {
  bool given = false;
  Money sum;
  std::vector<std::pair<std::string, Money>> lines;
};
// The lines keep the order of the plan.
PrintedCategory PrintedOf(const TcoScenario& s, const PrintedCost& cost, CostCategory category) {
  PrintedCategory printed;
  printed.sum = cost.categories[static_cast<std::size_t>(category)];
  for (std::size_t i = 0; i < s.plan.lines.size(); ++i) {
    if (s.plan.lines[i].category != category) continue;
    printed.given = true;
    printed.lines.emplace_back(s.plan.lines[i].name, cost.lines[i]);
  }
  return printed;
}

// Payments that are not known. 0 would say that nothing was paid.
constexpr const char* kNoData = "no data";

// Fills the table of costs. Each category has a row with its sum, then a row per line, with one column per scenario and
// two for payments. Amounts come rounded from PrintedCostOf, so every column adds up.
class CostGrid {
 public:
  explicit CostGrid(const TcoAnswer& answer) : answer_(answer), currency_(answer.scenarios.front().plan.currency) {
    for (const TcoScenario& s : answer.scenarios) columns_.push_back(PrintedCostOf(s));
    if (answer.actuals) paid_ = PrintedPaidOf(*answer.actuals, currency_);
  }

  std::vector<TableRow> Rows() {
    for (std::size_t c = 0; c < kCostCategoryCount; ++c) AddCategory(static_cast<CostCategory>(c));
    // Payments that no category claims.
    if (answer_.actuals && (paid_.actual.back() != Money() || paid_.at_completion.back() != Money())) {
      TableRow rest = {"unallocated"};
      rest.resize(1 + columns_.size());
      AddPaid(paid_.actual.back(), paid_.at_completion.back(), rest);
      rows_.push_back(std::move(rest));
    }
    AddTotals();
    return std::move(rows_);
  }

 private:
  // Appends what was paid and what it will come to.
  void AddPaid(Money paid, Money expected, TableRow& row, bool known = true) const {
    row.push_back(known ? Amount(paid, currency_) : kNoData);
    row.push_back(Amount(expected, currency_));
  }
  void AddCategory(CostCategory category);
  void AddLines(CostCategory category, const std::vector<PrintedCategory>& all, const std::vector<std::string>& names);
  void AddTotals();

  const TcoAnswer& answer_;
  std::string currency_;
  std::vector<PrintedCost> columns_;
  PrintedPaid paid_;
  std::vector<TableRow> rows_;
};

// A category of 0 says whether it was given: a cost that nobody planned is no cost of 0. A single line of the same
// name as its category would only repeat it.
void CostGrid::AddCategory(CostCategory category) {
  TableRow whole = {std::string(Name(category))};
  std::vector<std::string> names;
  std::vector<PrintedCategory> all;
  for (std::size_t s = 0; s < columns_.size(); ++s) {
    all.push_back(PrintedOf(answer_.scenarios[s], columns_[s], category));
    const PrintedCategory& printed = all.back();
    std::string cell = Amount(printed.sum, answer_.scenarios[s].plan.currency);
    if (printed.sum == Money()) cell += printed.given ? " (given)" : " (not given)";
    whole.push_back(cell);
    for (const auto& [name, amount] : printed.lines) {
      if (std::find(names.begin(), names.end(), name) == names.end()) names.push_back(name);
    }
  }
  const auto c = static_cast<std::size_t>(category);
  if (answer_.actuals) {
    AddPaid(paid_.actual[c], paid_.at_completion[c], whole, answer_.actuals->categories[c].known);
  }
  rows_.push_back(std::move(whole));
  if (names.size() > 1 || (!names.empty() && names.front() != Name(category))) AddLines(category, all, names);
}

// The lines of all scenarios under one category. They are matched by name. A bill rarely names lines, so the cells of
// payments are mostly empty here.
void CostGrid::AddLines(CostCategory category, const std::vector<PrintedCategory>& all,
                        const std::vector<std::string>& names) {
  const TcoPlan& plan = answer_.scenarios.front().plan;
  for (const std::string& name : names) {
    TableRow part = {"  " + name};
    for (std::size_t s = 0; s < all.size(); ++s) {
      Money amount;  // a line that a scenario does not have is 0 in it
      for (const auto& [line, money] : all[s].lines) {
        if (line == name) amount = money;
      }
      part.push_back(Amount(amount, answer_.scenarios[s].plan.currency));
    }
    if (answer_.actuals) {
      // Known only if the bill names the line.
      std::string paid;
      for (const auto& [line, amount] : answer_.actuals->lines) {
        if (plan.lines[line].category == category && plan.lines[line].name == name) {
          paid = Amount(amount, currency_);
        }
      }
      part.push_back(paid);
      part.emplace_back();
    }
    rows_.push_back(std::move(part));
  }
}

// Payments have no contingency: what is uncertain before is known after.
void CostGrid::AddTotals() {
  TableRow subtotal = {"subtotal"};
  TableRow contingency = {"contingency"};
  TableRow total = {"total"};
  for (std::size_t s = 0; s < columns_.size(); ++s) {
    const std::string& currency = answer_.scenarios[s].plan.currency;
    subtotal.push_back(Amount(columns_[s].subtotal, currency));
    contingency.push_back(fmt::format("{} ({})", Amount(columns_[s].contingency, currency),
                                      StatedPercent(answer_.scenarios[s].cost.contingency_rate.AsDouble())));
    total.push_back(Amount(columns_[s].total, currency));
  }
  if (answer_.actuals) {
    for (TableRow* row : {&subtotal, &total}) AddPaid(SumOf(paid_.actual), SumOf(paid_.at_completion), *row);
  }
  for (TableRow* row : {&subtotal, &contingency, &total}) rows_.push_back(std::move(*row));
}

// "200 gpu_hours", "2-2.5-4 price": a figure with its range and its name. A lever is named by what it changes, and a
// constant has no name. A figure with a range shows low, likely and high, since the likely value alone hides what was
// assumed.
std::string FigureText(const PlanFigure& figure) {
  std::string text = DecimalText(figure.likely);
  if (figure.ranged()) text = DecimalText(figure.low) + "-" + text + "-" + DecimalText(figure.high);
  const std::size_t point = figure.name.rfind('.');
  const std::string name = figure.name.substr(point + 1);
  if (name == "to" || name == "factor") return text + " by " + figure.name.substr(0, point);
  const bool constant = name.find_first_not_of("0123456789") == std::string::npos;
  return constant ? text : text + " " + name;
}

// Null if the plan has no such line. The pointer lives as long as the plan.
const PlanLine* LineNamed(const TcoPlan& plan, const std::string& key) {
  const auto found =
      std::find_if(plan.lines.begin(), plan.lines.end(), [&](const PlanLine& line) { return line.Key() == key; });
  return found == plan.lines.end() ? nullptr : &*found;
}

// The formula of a line with its figures: "200 gpu_hours x 2.5 price x 4 runs". A reader can compute the line again
// from it.
std::string FormulaText(const TcoPlan& plan, const PlanLine& line) {
  std::string text;
  for (const PlanTerm& term : line.terms) {
    if (!text.empty()) text += term.at_least ? ", at least " : term.minus ? " - " : " + ";
    for (std::size_t i = 0; i < term.factors.size(); ++i) {
      const PlanFactor& factor = term.factors[i];
      if (i > 0) text += factor.divides ? " / " : " x ";
      text += FigureText(plan.figures[factor.figure]);
      if (factor.rounds_up) text += " (rounded up)";
    }
  }
  return line.of_compute ? text + " of compute" : text;
}

// Null if the plan has no such figure.
const PlanFigure* FigureNamed(const TcoPlan& plan, const std::string& name) {
  const auto found =
      std::find_if(plan.figures.begin(), plan.figures.end(), [&](const PlanFigure& f) { return f.name == name; });
  return found == plan.figures.end() ? nullptr : &*found;
}

}  // namespace

ReportTable TcoCostTable(const TcoAnswer& answer) {
  ReportTable table;
  table.title = kTcoCosts;
  table.columns = {Column("Cost", kLeft)};
  for (const TcoScenario& s : answer.scenarios) {
    table.columns.push_back(Column(s.plan.name, kRight));
  }
  if (answer.actuals) {
    table.columns.push_back(Column("actual to date", kRight));
    table.columns.push_back(Column("re-forecast", kRight));
  }
  table.rows = CostGrid(answer).Rows();
  return table;
}

// What each lever would save by itself. Savings of several levers overlap, so the title warns against adding them.
ReportTable TcoLeverTable(const TcoScenario& s, const TcoScenario& first) {
  ReportTable table;
  table.title = "Levers of " + s.plan.name + ", each alone, the largest first: they do not add up";
  table.columns = {Column("Lever", kLeft),    Column("saves", kRight),   Column("of the total", kRight),
                   Column("by", kLeft, true), Column("evidence", kLeft), Column("what to do", kLeft, true)};
  for (const LeverSaving& lever : s.plan.alone) {
    const std::string how = ListText(lever.edits, "; ", [&](const PlanLever& edit) {
      return edit.line + " " + (edit.to ? "to " + Amount(*edit.to, s.plan.currency) : edit.how);
    });
    const bool known = !lever.edits.empty();
    const Money total = first.cost.total;
    table.rows.push_back({lever.name, Amount(lever.saves, s.plan.currency),
                          total > Money() ? TcoShare(lever.saves, total) : "undefined", how,
                          known ? lever.edits.front().evidence : "", known ? lever.edits.front().todo : ""});
  }
  return table;
}

// How uncertain the totals are, by draws and by three-point estimates. Both are before contingency, which stands for
// the same uncertainty.
ReportTable TcoSureTable(const TcoAnswer& answer) {
  ReportTable table;
  table.title = "How sure";
  table.columns = {Column("Scenario", kLeft),   Column("as planned", kRight),
                   Column("P10", kRight),       Column("P50", kRight),
                   Column("P90", kRight),       Column("three-point mean", kRight),
                   Column("deviation", kRight), Column("over the budget", kRight)};
  for (const TcoScenario& s : answer.scenarios) {
    if (!s.draws) continue;
    const std::string& c = s.plan.currency;
    const PertEstimate pert = PertOf(s.plan);
    table.rows.push_back({s.plan.name, Amount(s.cost.subtotal, c), TcoAbout(s.draws->p10, c), TcoAbout(s.draws->p50, c),
                          TcoAbout(s.draws->p90, c), TcoAbout(pert.mean, c), TcoAbout(pert.deviation, c),
                          s.draws->over_budget ? PercentText(*s.draws->over_budget) : "no budget"});
  }
  if (table.rows.empty()) return table;
  const auto drawn = std::find_if(answer.scenarios.begin(), answer.scenarios.end(),
                                  [](const TcoScenario& s) { return s.draws.has_value(); });
  table.notes = {
      fmt::format("{} draws, seed {}; all before contingency, which stands for the same uncertainty: add "
                  "one of them, never both",
                  drawn->draws->count, drawn->draws->seed),
      "the three-point mean assumes independent lines and leaves risks out; in each draw a risk happens or not"};
  return table;
}

// How far each figure alone moves the total. Its first rows are the figures that deserve more work.
ReportTable TcoTornadoTable(const TcoScenario& s) {
  ReportTable table;
  table.title = std::string(kTcoMatters) + " in " + s.plan.name + ": one figure at a time";
  table.columns = {Column("Figure", kLeft), Column("low", kRight),          Column("likely", kRight),
                   Column("high", kRight),  Column("total at low", kRight), Column("total at high", kRight)};
  const std::string& currency = s.plan.currency;
  for (const TornadoBar& bar : s.tornado) {
    const PlanFigure* figure = FigureNamed(s.plan, bar.figure);
    const auto number = [&](const Fraction PlanFigure::*end) {
      return figure == nullptr ? std::string() : DecimalText(figure->*end);
    };
    table.rows.push_back({bar.figure, number(&PlanFigure::low), number(&PlanFigure::likely), number(&PlanFigure::high),
                          Amount(bar.low, currency), Amount(bar.high, currency)});
  }
  return table;
}

// Where payments left the plan, by month and category. The variance is computed from the printed amounts, so a reader
// can check it.
ReportTable TcoVarianceTable(const ActualReport& report, const std::string& currency) {
  ReportTable table;
  table.title = "Actual against plan, by category";
  table.columns = {Column("Month", kLeft),   Column("Category", kLeft),  Column("plan", kRight),
                   Column("actual", kRight), Column("variance", kRight), Column("of plan", kRight)};
  const PrintedVariances printed = PrintedVariancesOf(report, currency);
  for (std::size_t i = 0; i < report.months.size(); ++i) {
    const MonthVariance& month = report.months[i];
    const Money variance = Money::Nano(printed.actual[i].nano() - printed.plan[i].nano());
    // A variance of a month that was not planned has no base.
    const std::string share =
        month.assumed ? ""
        : month.plan == Money()
            ? "undefined"
            : SignedPercent(static_cast<double>(month.variance.nano()) / static_cast<double>(month.plan.nano()));
    table.rows.push_back({month.month + (month.open ? " (open)" : ""),
                          month.category ? std::string(Name(*month.category)) : "unallocated",
                          Amount(printed.plan[i], currency),
                          month.assumed ? kNoData : Amount(printed.actual[i], currency),
                          month.assumed ? "" : Amount(variance, currency), share});
  }
  return table;
}

// The plan and the expectation month by month. Months to come have a forecast; a month that is not over is marked open.
ReportTable TcoMonthTable(const ActualReport& report, const std::string& currency) {
  ReportTable table;
  table.title = kTcoMonths;
  table.columns = {Column("Month", kLeft),         Column("state", kLeft),     Column("plan", kRight),
                   Column("expected", kRight),     Column("variance", kRight), Column("so far", kRight),
                   Column("at completion", kRight)};
  const auto [plans, paid] = PrintedMonthsOf(report, currency);
  const auto row = [&](const std::string& month, const std::string& state, Money plan, Money expected) {
    const Money off = Money::Nano(expected.nano() - plan.nano());
    table.rows.push_back(
        {month, state, Amount(plan, currency), Amount(expected, currency), Amount(off, currency), "", ""});
  };
  Money so_far;
  for (std::size_t m = 0; m < report.forecast.size(); ++m) {
    const MonthForecast& month = report.forecast[m];
    const bool nothing = month.actual && *month.actual == Money();
    const std::string state = !month.actual ? "forecast" : nothing ? "nothing paid" : "paid";
    row(month.month, state + (month.open ? ", open" : ""), plans[m], paid[m]);
    so_far = Money::Nano(so_far.nano() + paid[m].nano());
    table.rows.back()[5] = Amount(so_far, currency);
    if (month.at_completion) table.rows.back()[6] = Amount(*month.at_completion, currency);
  }
  if (!table.rows.empty()) row("total", "", SumOf(plans), SumOf(paid));
  if (!table.rows.empty()) {
    table.notes = {"at completion: payments until then, plus the plan of the remaining months; without contingency"};
  }
  return table;
}

// Whether to buy or rent, by the share of GPU-hours that jobs get. An idle server costs as much as a busy one, so that
// share decides.
ReportTable TcoOwnTable(const OwnOffer& offer, const std::string& currency) {
  ReportTable table;
  const auto price = [&](const Fraction& each) { return UnitPrice(each.AsDouble(), currency); };
  const auto amount = [&](const Fraction& a_year) { return TcoAbout(a_year.AsDouble(), currency); };
  table.title = kTcoOwn;
  table.columns = {Column("GPU-hours that jobs get", kLeft), Column("owned, each", kRight)};
  for (const Fraction& cloud : offer.cloud) {
    table.columns.push_back(Column("rented at " + price(cloud), kRight));
  }
  for (const Fraction& use : offer.utilisations) {
    const Fraction each = PerDeliveredHour(offer, use);
    TableRow row = {StatedPercent(use.AsDouble()), price(each)};
    for (const Fraction& cloud : offer.cloud) {
      row.emplace_back(Compare(each, MeanPrice(offer, cloud)) < 0 ? "buy" : "rent");
    }
    table.rows.push_back(std::move(row));
  }
  const OwnYear year = YearOf(offer);
  table.notes.push_back(
      fmt::format("a year: {} = depreciation {}, energy {}, demand {}, support {}, space {}, staff {}, capital {}",
                  amount(year.total), amount(year.depreciation), amount(year.energy), amount(year.demand),
                  amount(year.support), amount(year.space), amount(year.staff), amount(year.capital)));
  if (!offer.not_given.empty()) table.notes.push_back("not given: " + ListText(offer.not_given));
  // A falling cloud price makes renting cheaper over the years, so the mean price over the life decides.
  const bool falls = offer.cloud_falls_a_year.top > 0;
  for (const Fraction& cloud : offer.cloud) {
    const Fraction mean = MeanPrice(offer, cloud);
    const Fraction use = BreakEvenUse(offer, mean);
    const std::optional<Fraction> months = PaybackMonths(offer, cloud);
    std::string line = "against " + price(cloud) + " a GPU-hour";
    if (falls) {
      line +=
          fmt::format(", which falls by {} a year and is {} over the {} years",
                      StatedPercent(offer.cloud_falls_a_year.AsDouble()), price(mean), DecimalText(offer.life_years));
    }
    line += ": owning is cheaper from " + PercentText(use.AsDouble()) + " use";
    // More than all GPU-hours would have to be used: owning never pays at that price.
    if (Compare(use, Fraction::Of(1, 1)) > 0) line += ", so never: the cloud wins at that price";
    line += "; at " + StatedPercent(offer.payback_at.AsDouble()) + " use it pays back ";
    line += months ? fmt::format("in {} months of {} h", ThreeDigits(months->AsDouble()), offer.month_hours) : "never";
    if (months && Compare(*months, offer.life_years * Fraction::Of(12, 1)) > 0) line += ", longer than its life";
    table.notes.push_back(std::move(line));
  }
  table.notes.emplace_back("a server after its useful life still uses energy and fails; this leaves that out");
  if (!falls) table.notes.emplace_back("GPU prices fall, but stay constant here; set cloud_falls_a_year");
  return table;
}

// The formula of each line with its figures. It makes a plan reviewable without its file.
ReportTable TcoMadeTable(const TcoScenario& s, const TcoScenario& first) {
  ReportTable table;
  table.title = (&s == &first ? "How the lines of " + s.plan.name + " were made"
                              : "How the lines of " + s.plan.name + " that differ were made");
  table.columns = {Column("Line", kLeft, true), Column("cost", kRight), Column("made of", kLeft, true),
                   Column("paid", kLeft), Column("basis", kLeft, true)};
  for (std::size_t i = 0; i < s.plan.lines.size(); ++i) {
    const PlanLine& line = s.plan.lines[i];
    const PlanLine* there = &s == &first ? nullptr : LineNamed(first.plan, line.Key());
    // The same formula as in the first scenario is not repeated.
    if (there != nullptr && FormulaText(first.plan, *there) == FormulaText(s.plan, line)) continue;
    std::string paid = line.recurring ? "recurring" : "one-off";
    if (line.paid_in) paid += fmt::format(", months {}-{}", line.paid_in->first, line.paid_in->second);
    table.rows.push_back({line.Key(), UnitPrice(s.cost.lines[i], s.plan.currency), FormulaText(s.plan, line), paid,
                          line.basis.empty() ? "not given" : line.basis});
  }
  return table;
}

}  // namespace idleburn
