#pragma once

#include <array>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/result.h"
#include "base/time.h"
#include "plan/plan_report.h"
#include "tco/actual_bill.h"
#include "tco/plan_cost.h"

namespace idleburn {

// A plan against what was paid. Every month and category is compared, a difference is split into price and quantity
// where one line explains it, and the rest of the horizon is forecast from what is left to pay. What a bill does not
// mention is unknown and not zero, so it is counted as planned and said so.

// One category of one month: planned, paid, and the difference.
struct MonthVariance {
  std::string month;
  std::optional<CostCategory> category;
  Money plan;
  Money actual;
  // What was paid less what was planned.
  Money variance;
  bool open = false;
  // The bill has no row of this planned category in any month: what was paid is not known. `actual` is the plan then,
  // and `variance` 0, so that sums stay those of what is expected. A row of 0 says that nothing was paid.
  bool assumed = false;
};
// A difference split by its cause. The two sum exactly to the variance.
struct PriceAndQuantity {
  CostCategory category = CostCategory::kCompute;
  // (price_a - price_p) x quantity_a, a being the actual and p the planned figure.
  Money price;
  // (quantity_a - quantity_p) x price_p.
  Money quantity;
};

// A month of the plan, or one with a bill, as it is expected now. Months in the past have what was paid.
struct MonthForecast {
  std::string month;
  Money plan;
  // Absent for a month that is still to come.
  std::optional<Money> actual;
  // What was paid or will be, with the plan of what the bill has no row of; and the running sum of it to the end of the
  // month.
  Money expected;
  Money so_far;
  // What was paid by then, and the plan of the months left. Absent for a month to come.
  std::optional<Money> at_completion;
  bool open = false;
};

// A category to date, and what it comes to in the end.
struct PaidToDate {
  Money actual;
  Money at_completion;
  // False where the bill has no row of this planned category.
  bool known = true;
};

// The whole comparison. Amounts are in the plan's currency.
struct ActualReport {
  std::string column;
  // By month, then by category.
  std::vector<MonthVariance> months;
  std::vector<PriceAndQuantity> parts;
  // Every month from the plan's or the bill's first on. They sum to `expected`.
  std::vector<MonthForecast> forecast;
  // By category; the last is what none of them claims.
  std::array<PaidToDate, kCostCategoryCount + 1> categories{};
  // What was paid by line of the plan, where that is told.
  std::map<std::size_t, Money> lines;
  // The plan of the whole horizon, without contingency.
  Money plan;
  // What was paid to date, in categories with a row, and the plan to date of those without any.
  Money actual;
  Money assumed;
  // The sum at completion: by the earned share, else as planned from here on.
  Money expected;
  // With an earned share of the work and something spent: the cost performance index, CPI = plan x earned / actual, of
  // categories with a row.
  std::optional<double> efficiency;
  // The plan of those by CPI, with the plan of the others.
  std::optional<Money> at_completion;
  // What was paid or assumed, with the plan of all that is not earned. Where that is not known, it is with the plan of
  // the months that are left.
  Money at_completion_if_as_planned;
  // What a day cost over the last `burn_days`: 30, or all there are. Without days they are the last month's.
  std::optional<Money> burn_a_day;
  int burn_days = 0;
  // Days until the budget is used up at that burn.
  std::optional<double> runway_days;
  // (plan - actual) / actual of each closed month that cost something, as the plan was its forecast.
  std::vector<std::pair<std::string, double>> forecast_errors;
  std::vector<std::string> doubts;
};

// Compares a bill with a plan. A line's plan is spread evenly over its months, else over the horizon, from the plan's
// start or the bill's first month on. `earned` is work done by work planned, not elapsed time. A month is open if a row
// says so or, where none says closed, until it is over on `today` ("2026-11-21"). Fails without a horizon, and on
// amounts beyond 4 billion.
Result<ActualReport> CompareWithPlan(const TcoPlan& plan, const ActualBill& bill, std::optional<Fraction> earned,
                                     std::string_view today);

// Judges the plan of a scenario by each month whose bill is complete. Both arguments are paths; `actuals` is a file as
// idleburn tco reads it.
Result<std::vector<JudgedForecast>> ScenarioForecasts(const std::string& scenario, const std::string& actuals,
                                                      Instant now);

}  // namespace idleburn
