#include "plan/forecast_outcome.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <map>

#include "plan/memory.h"
#include "plan/training_time.h"
#include "stats/mean.h"
#include "stats/order.h"
#include "text/number.h"

namespace idleburn {

// Forecast beside outcome, one quantity at a time, and the errors of a month. A mean of errors keeps their signs, to
// show a bias; median and 95th percentile take their sizes, to show how far off a single forecast may be.

namespace {

// Sums up forecasts of one quantity in one month; there is at least one.
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
    // The worst so far; of equal ones the first.
    if (sizes.size() > 1 && sizes.back() <= std::abs(errors.worst_error)) continue;
    errors.worst_run = one->run;
    errors.worst_error = one->Error();
  }
  // The worst run is always named, but few runs have no rate.
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

namespace {

// Of nanoseconds in a second, and of billionths of a currency in one.
constexpr double kNano = 1e9;
constexpr double kSameWork = 0.05;  // a bar's last line may be missed

// A figure that may be missing, as the history keeps it.
using Known = std::optional<double>;

// A range with ends that default to the likely value; absent where that is not above 0.
std::optional<LikelyRange> RangeOf(const Known& likely, const Known& low, const Known& high) {
  if (!likely || *likely <= 0) return std::nullopt;
  return LikelyRange{*likely, low.value_or(*likely), high.value_or(*likely)};
}

// An amount of the history, which counts billionths.
Known Dollars(const std::optional<std::int64_t>& nano) {
  return nano ? Known(static_cast<double>(*nano) / kNano) : std::nullopt;
}

// The forecast keeps the scale of its run, so that work counted in steps can be compared in tokens.
TokenScale KeptScaleOf(const KeptForecast& forecast) { return {forecast.tokens_per_step, forecast.sequence}; }

// The share of the planned work that was done. Absent where nothing that was counted can be compared with it.
Known ShareDone(const HistoryRun& run) {
  const KeptForecast& forecast = *run.forecast;
  if (!run.figures.work || !forecast.tokens || *forecast.tokens <= 0) return std::nullopt;
  const std::string& unit = run.figures.work_unit;
  // The history keeps one count and its unit.
  const std::int64_t count = std::llround(*run.figures.work);
  WorkCount work;
  if (unit == "step") work[WorkUnit::kStep] = count;
  if (unit == "sample") work[WorkUnit::kSample] = count;
  if (unit == "token") work[WorkUnit::kToken] = count;
  const Known done = TokensOf(work, KeptScaleOf(forecast));
  return done ? Known(*done / *forecast.tokens) : std::nullopt;
}

// Why the run did not do the planned work; empty if it did, or if nobody counted.
std::string WhyPartial(const HistoryRun& run) {
  const Known share = ShareDone(run);
  const bool whole = !share || std::abs(*share - 1) <= kSameWork;
  const std::string part = share ? fmt::format(" after {:.0f} % of the work planned", 100 * *share) : "";
  // A run that failed has done some of the work at best.
  if (run.exit != "exit 0") return fmt::format("the command ended with {}{}", run.exit, part);
  return whole ? "" : fmt::format("the command did {:.0f} % of the work planned", 100 * *share);
}

// What came of a quantity.
Known Actual(const HistoryRun& run, ForecastQuantity quantity) {
  const RunFigures& f = run.figures;
  const Known hours = run.ended ? Known(InHours(*run.ended - run.started)) : Known();
  switch (quantity) {
    case ForecastQuantity::kHours:
      return hours;
    case ForecastQuantity::kGpuHours:
      // GPU-hours that were recorded, else those of all planned GPUs.
      if (f.window_ns) return InHours(*f.window_ns);
      return hours && run.forecast->gpus ? Known(*hours * *run.forecast->gpus) : Known();
    case ForecastQuantity::kCost:
      return f.currency == run.forecast->currency ? Dollars(f.cost_nano) : Known();
    case ForecastQuantity::kTokensPerSecond: {
      const Known tokens = TokensOf({f.pace_steps, f.pace_samples, f.pace_tokens, {}}, KeptScaleOf(*run.forecast));
      if (!tokens || !f.pace_ns || *f.pace_ns <= 0 || !run.forecast->gpus) return std::nullopt;
      return *tokens * kNano / static_cast<double>(*f.pace_ns) / *run.forecast->gpus;
    }
    case ForecastQuantity::kMemory:
      return f.memory_peak ? Known(static_cast<double>(*f.memory_peak)) : Known();
    case ForecastQuantity::kScenarioCost:  // of no run
      break;
  }
  return std::nullopt;
}

// What was forecast of a quantity.
std::optional<LikelyRange> Forecast(const KeptForecast& f, ForecastQuantity quantity) {
  switch (quantity) {
    case ForecastQuantity::kHours:
      return RangeOf(f.hours, f.hours_low, f.hours_high);
    case ForecastQuantity::kGpuHours:
      return RangeOf(f.gpu_hours, f.gpu_hours_low, f.gpu_hours_high);
    case ForecastQuantity::kCost:
      return RangeOf(Dollars(f.cost_nano), Dollars(f.cost_low_nano), Dollars(f.cost_high_nano));
    case ForecastQuantity::kTokensPerSecond:
      return RangeOf(f.tokens_s, f.tokens_s_low, f.tokens_s_high);
    case ForecastQuantity::kMemory:
      return RangeOf(f.memory, f.memory_low, f.memory_high);
    case ForecastQuantity::kScenarioCost:
      break;
  }
  return std::nullopt;
}

// Whether a figure belongs to the whole work. Such a figure cannot be compared with a part of it.
bool IsOfTheWhole(ForecastQuantity quantity) {
  return quantity == ForecastQuantity::kHours || quantity == ForecastQuantity::kGpuHours ||
         quantity == ForecastQuantity::kCost;
}

}  // namespace

ForecastOutcome OutcomeOf(const HistoryRun& run) {
  ForecastOutcome outcome;
  outcome.why_partial = WhyPartial(run);
  for (std::size_t i = 0; i < kForecastQuantityCount; ++i) {
    ForecastLine line;
    line.quantity = static_cast<ForecastQuantity>(i);
    line.forecast = Forecast(*run.forecast, line.quantity);
    line.actual = Actual(run, line.quantity);
    if (line.actual && *line.actual <= 0) line.actual.reset();
    line.comparable = line.forecast && line.actual && (outcome.why_partial.empty() || !IsOfTheWhole(line.quantity));
    outcome.lines.push_back(line);
  }
  return outcome;
}

}  // namespace idleburn
