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
  Money expected;                      // what was paid, or will be
  Money so_far;                        // expected, to the end of the month
  std::optional<Money> at_completion;  // what was paid by then, and the plan of the months left; absent: to come
  bool open = false;
};

// What was paid to date, and what it comes to in the end.
struct PaidToDate {
  Money actual;
  Money at_completion;
};

struct ActualReport {
  std::string column;
  std::vector<MonthVariance> months;  // by month, then category
  std::vector<PriceAndQuantity> parts;
  std::vector<MonthForecast> forecast;  // every month from the plan's or the bill's first on; they sum to `expected`
  std::array<PaidToDate, kCostCategoryCount + 1> categories{};  // the last: what none of them claims
  std::map<std::size_t, Money> lines;                           // paid by line of the plan, where it is told
  Money plan;                                                   // of the whole horizon, without contingency
  Money actual;                                                 // to date
  Money expected;  // at completion: by the earned share, else as planned from here on
  // With an earned share of the work, and something spent.
  std::optional<double> efficiency;    // CPI = plan x earned / actual
  std::optional<Money> at_completion;  // plan / CPI
  // actual + what of the plan is not earned, or, where that is not known, of the months that are left
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
