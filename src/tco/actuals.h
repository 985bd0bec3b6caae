#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/byte_source.h"
#include "base/result.h"
#include "tco/plan_cost.h"

namespace idleburn {

// What was really paid, a row each.
struct ActualRow {
  std::string month;                     // "2026-07"
  std::optional<std::int64_t> day;       // since 1970-01-01, where it is known
  std::optional<CostCategory> category;  // absent: unallocated
  Money amount;
  std::optional<Fraction> quantity;
  bool open = false;  // the month's bill is not complete
};

struct ActualBill {
  std::vector<ActualRow> rows;
  std::string column;  // which cost it is: "amount", "EffectiveCost", "BilledCost"
};

// A CSV of month, category, amount and, if known, quantity and status (open, closed); or a billing export by FOCUS
// (ChargePeriodStart, EffectiveCost else BilledCost, ServiceCategory). A row that is not understood is an error with
// its line.
Result<ActualBill> ReadActuals(ByteSource& in);

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

struct ActualReport {
  std::string column;
  std::vector<MonthVariance> months;  // by month, then category
  std::vector<PriceAndQuantity> parts;
  Money plan;    // of the whole horizon, without contingency
  Money actual;  // to date
  // With an earned share of the work, and something spent.
  std::optional<double> efficiency;    // CPI = plan x earned / actual
  std::optional<Money> at_completion;  // plan / CPI
  // actual + what of the plan is not earned, or, where that is not known, of the months that are left
  std::optional<Money> at_completion_if_as_planned;
  std::optional<Money> burn_a_day;                   // over the last `burn_days`
  int burn_days = 0;                                 // 30, or all there are; without days the last month's
  std::optional<double> runway_days;                 // of the budget, at that burn
  // (plan - actual) / actual of each closed month that cost something, as the plan was its forecast.
  std::vector<std::pair<std::string, double>> forecast_errors;
};

// A month's plan is an even part of the horizon's. `earned`: work done / work planned, not elapsed time.
Result<ActualReport> CompareWithPlan(const TcoPlan& plan, const ActualBill& bill, std::optional<Fraction> earned);

}  // namespace idleburn
