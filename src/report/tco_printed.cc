#include "report/tco_printed.h"

#include <algorithm>

#include "report/display.h"

namespace idleburn {
namespace {

std::vector<Money> RoundedColumn(const std::vector<Money>& exact, const std::string& currency) {
  const Result<std::vector<Money>> rounded = RoundColumn(exact, MinorUnit(currency));
  return rounded ? *rounded : exact;
}

// Parts of a sum that is printed as `sum`: where rounding them alone gives another one, the part that is furthest on
// that side of its exact amount takes the difference.
std::vector<Money> PartsOfSum(const std::vector<Money>& exact, Money sum, const std::string& currency) {
  std::vector<Money> parts = RoundedColumn(exact, currency);
  const std::int64_t left = sum.nano() - SumOf(parts).nano();
  if (left == 0) return parts;
  std::size_t furthest = 0;
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
    if (exact.plan.empty()) continue;  // to come
    const std::vector<Money> plan = PartsOfSum(exact.plan, months.plan[m], currency);
    const std::vector<Money> actual = PartsOfSum(exact.actual, months.expected[m], currency);
    all.plan.insert(all.plan.end(), plan.begin(), plan.end());
    all.actual.insert(all.actual.end(), actual.begin(), actual.end());
  }
  return all;
}

}  // namespace idleburn
