#include "tco/actuals.h"

#include <algorithm>
#include <array>
#include <cstdlib>
#include <map>

#include "tco/decimal.h"
#include "text/csv_table.h"
#include "text/number.h"
#include "text/spelling.h"
#include "text/time_zone.h"

namespace idleburn {
namespace {

// Sums and differences of what is within this stay within Money.
constexpr std::int64_t kOne = 1'000'000'000;
constexpr std::int64_t kMostUnits = 4'000'000'000;

struct ServiceName {
  std::string_view service;  // FOCUS ServiceCategory
  CostCategory category;
};
constexpr auto kServices = std::to_array<ServiceName>({{"Compute", CostCategory::kCompute},
                                                       {"AI and Machine Learning", CostCategory::kCompute},
                                                       {"Storage", CostCategory::kData},
                                                       {"Databases", CostCategory::kData},
                                                       {"Networking", CostCategory::kInfrastructure},
                                                       {"Developer Tools", CostCategory::kInfrastructure},
                                                       {"Management and Governance", CostCategory::kOperations},
                                                       {"Security", CostCategory::kOperations}});

Result<std::optional<CostCategory>> CategoryOf(std::string_view text, const std::string& where) {
  if (text.empty() || text == "unallocated") return std::optional<CostCategory>();
  std::vector<std::string> known;
  for (std::size_t c = 0; c < kCostCategoryCount; ++c) {
    if (kCostCategoryNames[c] == text) return std::optional(static_cast<CostCategory>(c));
    known.emplace_back(kCostCategoryNames[c]);
  }
  return FailUsage(where + ": unknown category '" + std::string(text.substr(0, 40)) + "'; did you mean " +
                   NearestSpelling(text, known) + "?");
}

std::optional<CostCategory> CategoryOfService(std::string_view service) {
  const auto found =
      std::find_if(kServices.begin(), kServices.end(), [&](const ServiceName& s) { return s.service == service; });
  return found == kServices.end() ? std::nullopt : std::optional(found->category);
}

// "2026-07" of a month or of a stamp in it.
Result<std::string> MonthOf(std::string_view text, const std::string& where) {
  const std::string_view month = text.substr(0, 7);
  const std::optional<std::int64_t> number = month.size() == 7 ? ParseInteger(month.substr(5)) : std::nullopt;
  if (!number || *number < 1 || *number > 12 || month[4] != '-' || !ParseInteger(month.substr(0, 4))) {
    return FailUsage(where + ": '" + std::string(text.substr(0, 20)) + "' is no month such as 2026-07");
  }
  return std::string(month);
}

// Days since 1970 of a stamp; absent where it is no more than a month.
std::optional<std::int64_t> DayOf(std::string_view text) {
  if (text.size() < 10 || text[7] != '-') return std::nullopt;
  const std::optional<std::int64_t> year = ParseInteger(text.substr(0, 4));
  const std::optional<std::int64_t> month = ParseInteger(text.substr(5, 2));
  const std::optional<std::int64_t> day = ParseInteger(text.substr(8, 2));
  if (!year || !month || !day || *day < 1 || *day > 31) return std::nullopt;
  return DaysFromCivil(*year, static_cast<int>(*month), static_cast<int>(*day));
}

Result<ActualRow> ReadRow(const CsvTable& table, bool focus, const std::string& cost_column) {
  ActualRow row;
  const Result<std::string> month = MonthOf(table.Cell(focus ? "ChargePeriodStart" : "month"), table.Where());
  if (!month) return tl::unexpected<Error>(month.error());
  row.month = *month;
  const Result<Money> amount = Money::Parse(table.Cell(cost_column));
  if (amount && std::abs(amount->nano() / kOne) > kMostUnits) {
    return FailUsage(table.Where() + ": " + cost_column + " is beyond 4 billion; check its unit");
  }
  if (!amount) return FailUsage(table.Where() + ": " + cost_column + ": " + amount.error().message);
  row.amount = *amount;  // a credit is negative
  if (focus) {
    row.category = CategoryOfService(table.Cell("ServiceCategory"));
    row.day = DayOf(table.Cell("ChargePeriodStart"));
    return row;
  }
  const Result<std::optional<CostCategory>> category = CategoryOf(table.Cell("category"), table.Where());
  if (!category) return tl::unexpected<Error>(category.error());
  row.category = *category;
  if (const std::string_view quantity = table.Cell("quantity"); !quantity.empty()) {
    const Result<Fraction> number = ParseDecimal(quantity);
    if (!number) return FailUsage(table.Where() + ": quantity: " + number.error().message);
    row.quantity = *number;
  }
  const std::string_view status = table.Cell("status");
  if (!status.empty() && status != "open" && status != "closed") {
    return FailUsage(table.Where() + ": status '" + std::string(status.substr(0, 20)) + "' is none of open, closed");
  }
  row.open = status == "open";
  return row;
}

// A category's plan, and how many GPU-hours (or the like) at which price, where one line makes all of it.
struct CategoryPlan {
  Money amount;
  std::optional<Fraction> quantity;
  std::optional<Fraction> price;
};

CategoryPlan PlanOf(const TcoPlan& plan, const PlanCost& cost, CostCategory category) {
  CategoryPlan found;
  found.amount = cost.categories[static_cast<std::size_t>(category)];
  int lines = 0;
  for (const PlanLine& line : plan.lines) {
    if (line.category != category) continue;
    ++lines;
    if (!line.price || plan.figures[*line.price].likely.top == 0) continue;
    found.price = plan.figures[*line.price].likely;
    found.quantity = Fraction::Of(found.amount) / *found.price;
  }
  if (lines != 1) found.quantity = found.price = std::nullopt;
  return found;
}

// The plan of the first `months` months of an amount that is spread evenly over `horizon`.
std::optional<Money> PlanTo(const Money& amount, const Fraction& horizon, std::size_t months) {
  const Fraction share = Fraction::Of(static_cast<Int128>(months), 1) / horizon;
  const bool over = Compare(share, Fraction::Of(1, 1)) > 0;
  return (Fraction::Of(amount) * (over ? Fraction::Of(1, 1) : share)).AsMoney();
}

// Year-month to the days it has.
int DaysIn(const std::string& month) {
  constexpr std::array<int, 12> kDays = {31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31};
  const std::int64_t year = *ParseInteger(month.substr(0, 4));
  const auto m = static_cast<std::size_t>(*ParseInteger(month.substr(5)));
  const bool leap = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
  return kDays[m - 1] + (m == 2 && leap ? 1 : 0);
}

Money Less(Money a, Money b) { return Money::Nano(a.nano() - b.nano()); }

// Prices and quantities of a category over all months; the plan's quantity is that of the months passed.
std::optional<PriceAndQuantity> SplitVariance(const CategoryPlan& plan, CostCategory category, const Money& planned,
                                              const ActualBill& bill) {
  if (!plan.quantity || !plan.price || plan.price->top == 0) return std::nullopt;
  Fraction quantity;
  Money actual;
  bool any = false;
  for (const ActualRow& row : bill.rows) {
    if (row.category != category) continue;
    if (!row.quantity) return std::nullopt;
    any = true;
    quantity = quantity + *row.quantity;
    actual = Money::Nano(actual.nano() + row.amount.nano());
  }
  const std::optional<Money> at_plan_price = (quantity * *plan.price).AsMoney();
  if (!any || !at_plan_price) return std::nullopt;
  return PriceAndQuantity{category, Less(actual, *at_plan_price), Less(*at_plan_price, planned)};
}

// What the trailing 30 days cost a day, where every row has its day; else the last month.
void SetBurn(const ActualBill& bill, const std::map<std::string, Money>& by_month, ActualReport& report) {
  constexpr std::int64_t kTrailing = 30;
  const bool dated =
      std::all_of(bill.rows.begin(), bill.rows.end(), [](const ActualRow& row) { return row.day.has_value(); });
  const auto& [month, of_month] = *by_month.rbegin();
  Money spent = of_month;
  report.burn_days = DaysIn(month);
  if (dated) {
    const auto [first, last] = std::minmax_element(
        bill.rows.begin(), bill.rows.end(), [](const ActualRow& a, const ActualRow& b) { return a.day < b.day; });
    report.burn_days = static_cast<int>(std::min(kTrailing, *last->day - *first->day + 1));
    spent = Money();
    for (const ActualRow& row : bill.rows) {
      if (*row.day > *last->day - kTrailing) spent = Money::Nano(spent.nano() + row.amount.nano());
    }
  }
  report.burn_a_day = (Fraction::Of(spent) / Fraction::Of(report.burn_days, 1)).AsMoney();
}

void Forecast(const TcoPlan& plan, std::optional<Fraction> earned, const ActualBill& bill,
              const std::map<std::string, Money>& by_month, ActualReport& report) {
  const Fraction actual = Fraction::Of(report.actual);
  const Fraction whole = Fraction::Of(report.plan);
  if (earned && earned->top > 0 && actual.top > 0 && whole.top > 0) {
    const Fraction efficiency = whole * *earned / actual;
    report.efficiency = efficiency.AsDouble();
    report.at_completion = (whole / efficiency).AsMoney();
  }
  const std::optional<Money> passed = PlanTo(report.plan, *plan.months, by_month.size());
  const Fraction done = earned ? whole * *earned : Fraction::Of(passed.value_or(Money()));
  if (!by_month.empty()) report.at_completion_if_as_planned = (actual + whole - done).AsMoney();
  if (by_month.empty()) return;
  SetBurn(bill, by_month, report);
  if (plan.budget && report.burn_a_day && report.burn_a_day->nano() > 0) {
    report.runway_days = static_cast<double>(plan.budget->nano() - report.actual.nano()) /
                         static_cast<double>(report.burn_a_day->nano());
  }
}

}  // namespace

Result<ActualBill> ReadActuals(ByteSource& in) {
  CsvTable table(in);
  TRY(table.ReadHeader());
  const bool focus = table.Has("ChargePeriodStart");
  ActualBill bill;
  bill.column = !focus ? "amount" : table.Has("EffectiveCost") ? "EffectiveCost" : "BilledCost";
  const std::string_view needed[] = {focus ? "ChargePeriodStart" : "month", bill.column,
                                     focus ? "ServiceCategory" : "category"};
  TRY(table.Require(needed));
  while (true) {
    const Result<bool> more = table.Next();
    if (!more) return tl::unexpected<Error>(more.error());
    if (!*more) return bill;
    Result<ActualRow> row = ReadRow(table, focus, bill.column);
    if (!row) return tl::unexpected<Error>(row.error());
    bill.rows.push_back(*std::move(row));
  }
}

Result<ActualReport> CompareWithPlan(const TcoPlan& plan, const ActualBill& bill, std::optional<Fraction> earned) {
  if (!plan.months) return FailUsage("a comparison with actuals needs horizon_months, to know the plan of a month");
  const Result<PlanCost> cost = CostOfPlan(plan);
  if (!cost) return tl::unexpected<Error>(cost.error());
  if (cost->subtotal.nano() / kOne > kMostUnits) return Fail("the plan is beyond 4 billion; check its figures");
  std::int64_t gross = 0;
  for (const ActualRow& row : bill.rows) {
    gross += std::abs(row.amount.nano() / kOne) + 1;
    if (gross > kMostUnits) return Fail("the actuals come to more than 4 billion; check their amounts");
  }
  ActualReport report;
  report.column = bill.column;
  report.plan = cost->subtotal;
  std::map<std::string, std::map<std::optional<CostCategory>, Money>> paid;
  std::map<std::string, bool> open;
  std::map<std::string, Money> by_month;
  for (const ActualRow& row : bill.rows) {
    for (Money* sum : {&paid[row.month][row.category], &report.actual, &by_month[row.month]}) {
      *sum = Money::Nano(sum->nano() + row.amount.nano());
    }
    open[row.month] = open[row.month] || row.open;
  }
  std::size_t month_number = 0;
  for (auto& [month, cells] : paid) {
    for (std::size_t c = 0; c < kCostCategoryCount; ++c) {
      if (cost->given[c]) cells.try_emplace(static_cast<CostCategory>(c));
    }
    Money planned_in_month;
    for (const auto& [category, actual] : cells) {
      Money planned;
      if (category) {
        const Money& amount = cost->categories[static_cast<std::size_t>(*category)];
        const std::optional<Money> before = PlanTo(amount, *plan.months, month_number);
        const std::optional<Money> after = PlanTo(amount, *plan.months, month_number + 1);
        if (!before || !after) return Fail("the plan of a month cannot be kept; check its figures");
        planned = Less(*after, *before);
      }
      planned_in_month = Money::Nano(planned_in_month.nano() + planned.nano());
      report.months.push_back({month, category, planned, actual, Less(actual, planned), open[month]});
    }
    const auto spent = static_cast<double>(by_month[month].nano());
    if (!open[month] && spent != 0) {
      report.forecast_errors.emplace_back(month, (static_cast<double>(planned_in_month.nano()) - spent) / spent);
    }
    ++month_number;
  }
  for (std::size_t c = 0; c < kCostCategoryCount; ++c) {
    const auto category = static_cast<CostCategory>(c);
    const CategoryPlan of = PlanOf(plan, *cost, category);
    const std::optional<Money> planned = PlanTo(of.amount, *plan.months, month_number);
    if (!planned) continue;
    if (const auto parts = SplitVariance(of, category, *planned, bill)) report.parts.push_back(*parts);
  }
  Forecast(plan, earned, bill, by_month, report);
  return report;
}

}  // namespace idleburn
