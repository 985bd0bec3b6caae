#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/money.h"
#include "base/result.h"
#include "base/run_ids.h"
#include "bill/bill_month.h"
#include "bill/bill_report.h"
#include "price/find_rate.h"

// `idleburn bill forecast`: what a month will have cost at its end, by team, from the days of a fleet's ledger.
// Formulas and the cases where they are wrong are on docs/bill-forecast.md.
namespace idleburn {

// What one team did and paid on a UTC day. Times are GPU-milliseconds.
struct TeamDayCost {
  Money cost;
  std::int64_t ms = 0;
  std::int64_t idle_ms = 0;
  std::int64_t unobserved_ms = 0;
  std::map<std::string, std::int64_t> jobs;  // their time
};
struct DayCosts {
  std::int64_t day = 0;  // its begin, Unix seconds
  std::map<std::string, TeamDayCost> teams;
};

// A sum of the month: a team, or all.
struct MonthEnd {
  std::string name;  // empty: all teams
  Money spent;       // on days that have ended
  // At the end of the month. Absent with `why`.
  std::optional<Money> low;  // 90 % interval
  std::optional<Money> expected;
  std::optional<Money> high;
  std::string why;  // "too_few_days", "drifting"
  std::optional<Money> budget;
  std::string verdict;                       // of the budget: "over", "will_exceed", "may_exceed", "within", "unknown"
  std::optional<std::int64_t> exceeded_day;  // the day on which the expected cost passes the budget
};

// A day on which a team cost unlike its other days.
struct CostAnomaly {
  std::int64_t day = 0;
  std::string team;
  Money cost;
  Money usual;        // the median of the other days of its kind
  double score = 0;   // robust standard deviations away
  std::string cause;  // "job", "idle", "unobserved", "unknown"
  std::string job;    // of the cause "job"
};

struct BillForecast {
  RunIds ids = {};
  std::string month;  // "2026-11"
  std::string currency;
  std::string rate_source;
  std::int64_t from = 0;       // of the days behind the forecast
  std::int64_t to = 0;         // the end of the last whole day
  std::int64_t days = 0;       // of the month that have ended
  std::int64_t days_left = 0;  // of the month
  MonthEnd whole;
  std::vector<MonthEnd> teams;  // the dearest first; with the buckets of the fleet they sum to `whole.spent`
  std::vector<CostAnomaly> anomalies;
  std::vector<std::string> unmatched;  // budgets of teams without a GPU
  std::vector<BillDoubt> doubts;
};

// Fills month, days, sums and anomalies. `days` are whole days without a gap, oldest first, up to the newest; budgets
// are in billionths.
BillForecast ForecastMonth(const std::vector<DayCosts>& days, const MonthSpan& month,
                           const std::map<std::string, std::int64_t>& budgets);

// Reads the days of a fleet's ledger and forecasts. Fails without a price for its GPUs.
Result<BillForecast> ForecastFrom(const std::string& ledger, const Prices& prices, bool price_given,
                                  const MonthSpan& month, const std::map<std::string, std::int64_t>& budgets);

}  // namespace idleburn
