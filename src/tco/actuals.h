#pragma once

#include <array>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/result.h"
#include "tco/actual_bill.h"
#include "tco/plan_cost.h"

namespace idleburn {

// One category of one month.
struct MonthVariance {
  std::string month;
  std::optional<CostCategory> category;
  Money plan;
  Money actual;
  Money variance;  // actual - plan
  bool open = false;
  // The bill has no row of this planned category in any month: what was paid is not known. `actual` is the plan then,
  // and `variance` 0, so that sums stay those of what is expected. A row of 0 says that nothing was paid.
  bool assumed = false;
};
// The two sum exactly to the variance.
struct PriceAndQuantity {
  CostCategory category = CostCategory::kCompute;
  Money price;     // (price_a - price_p) x quantity_a
  Money quantity;  // (quantity_a - quantity_p) x price_p
};

// A month of the plan, or one with a bill, as it is expected now.
struct MonthForecast {
  std::string month;
  Money plan;
  std::optional<Money> actual;         // absent: to come
  Money expected;                      // what was paid, or will be; with the plan of what the bill has no row of
  Money so_far;                        // expected, to the end of the month
  std::optional<Money> at_completion;  // what was paid by then, and the plan of the months left; absent: to come
  bool open = false;
};

// What was paid to date, and what it comes to in the end.
struct PaidToDate {
  Money actual;
  Money at_completion;
  bool known = true;  // false: the bill has no row of this planned category
};

struct ActualReport {
  std::string column;
  std::vector<MonthVariance> months;  // by month, then category
  std::vector<PriceAndQuantity> parts;
  std::vector<MonthForecast> forecast;  // every month from the plan's or the bill's first on; they sum to `expected`
  std::array<PaidToDate, kCostCategoryCount + 1> categories{};  // the last: what none of them claims
  std::map<std::size_t, Money> lines;                           // paid by line of the plan, where it is told
  Money plan;                                                   // of the whole horizon, without contingency
  Money actual;                                                 // to date, of categories with a row
  Money assumed;                                                // to date, the plan of those without any
  Money expected;  // at completion: by the earned share, else as planned from here on
  // With an earned share of the work, and something spent.
  std::optional<double> efficiency;    // CPI = plan x earned / actual, of categories with a row
  std::optional<Money> at_completion;  // their plan / CPI, and the plan of the others
  // actual and assumed + what of the plan is not earned, or, where that is not known, of the months that are left
  Money at_completion_if_as_planned;
  std::optional<Money> burn_a_day;    // over the last `burn_days`
  int burn_days = 0;                  // 30, or all there are; without days the last month's
  std::optional<double> runway_days;  // of the budget, at that burn
  // (plan - actual) / actual of each closed month that cost something, as the plan was its forecast.
  std::vector<std::pair<std::string, double>> forecast_errors;
  std::vector<std::string> doubts;
};

// A line's plan is spread evenly over its months, else over the horizon, from the plan's start or the bill's first
// month on. `earned`: work done / work planned, not elapsed time. A month is open if a row says so or, where none says
// closed, until it is over on `today` ("2026-11-21").
Result<ActualReport> CompareWithPlan(const TcoPlan& plan, const ActualBill& bill, std::optional<Fraction> earned,
                                     std::string_view today);

}  // namespace idleburn
