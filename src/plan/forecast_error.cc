#include "plan/forecast_error.h"

#include <algorithm>
#include <cmath>
#include <map>

#include "stats/mean.h"
#include "stats/order.h"

namespace idleburn {
namespace {

MonthOfErrors ErrorsOf(const std::vector<const JudgedForecast*>& forecasts) {
  MonthOfErrors errors;
  errors.month = forecasts.front()->month;
  errors.quantity = forecasts.front()->quantity;
  errors.n = forecasts.size();
  std::vector<double> signed_errors;
  std::vector<double> sizes;
  std::size_t intervals = 0;
  double inside = 0;
  for (const JudgedForecast* one : forecasts) {
    signed_errors.push_back(one->Error());
    sizes.push_back(std::abs(one->Error()));
    intervals += one->HasInterval() ? 1U : 0U;
    inside += one->HasInterval() && one->Inside() ? 1 : 0;
    if (sizes.size() > 1 && sizes.back() <= std::abs(errors.worst_error)) continue;
    errors.worst_run = one->run;
    errors.worst_error = one->Error();
  }
  if (errors.n < kFewestForecasts) return errors;
  std::sort(sizes.begin(), sizes.end());
  errors.median = SortedQuantile(sizes, 0.5);
  errors.bias = MeanOf(signed_errors);
  if (intervals >= kFewestForecasts) errors.coverage = inside / static_cast<double>(intervals);
  if (errors.n >= kFewestForTail) errors.p95 = SortedQuantile(sizes, 0.95);
  return errors;
}

}  // namespace

std::vector<MonthOfErrors> ErrorsByMonth(std::span<const JudgedForecast> forecasts) {
  std::map<std::string, std::map<ForecastQuantity, std::vector<const JudgedForecast*>>, std::greater<>> months;
  for (const JudgedForecast& one : forecasts) months[one.month][one.quantity].push_back(&one);
  std::vector<MonthOfErrors> all;
  for (const auto& [month, quantities] : months) {
    for (const auto& [quantity, those] : quantities) all.push_back(ErrorsOf(those));
  }
  return all;
}

}  // namespace idleburn
