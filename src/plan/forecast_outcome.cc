#include "plan/forecast_outcome.h"

#include <fmt/format.h>

#include <array>
#include <cmath>

#include "plan/memory.h"
#include "plan/token_scale.h"
#include "text/number.h"

namespace idleburn {
namespace {

constexpr double kNano = 1e9;
constexpr double kSameWork = 0.05;  // a bar's last line may be missed

using Known = std::optional<double>;

std::optional<LikelyRange> RangeOf(const Known& likely, const Known& low, const Known& high) {
  if (!likely || *likely <= 0) return std::nullopt;
  return LikelyRange{*likely, low.value_or(*likely), high.value_or(*likely)};
}

Known Dollars(const std::optional<std::int64_t>& nano) {
  return nano ? Known(static_cast<double>(*nano) / kNano) : std::nullopt;
}

TokenScale ScaleOf(const KeptForecast& forecast) { return {forecast.tokens_per_step, forecast.sequence}; }

// Of the work planned; absent where nothing that was counted can be compared with it.
Known ShareDone(const HistoryRun& run) {
  const KeptForecast& forecast = *run.forecast;
  if (!run.figures.work || !forecast.tokens || *forecast.tokens <= 0) return std::nullopt;
  const std::string& unit = run.figures.work_unit;
  const std::int64_t count = std::llround(*run.figures.work);
  WorkCount work;
  if (unit == "step") work[WorkUnit::kStep] = count;
  if (unit == "sample") work[WorkUnit::kSample] = count;
  if (unit == "token") work[WorkUnit::kToken] = count;
  const Known done = TokensOf(work, ScaleOf(forecast));
  return done ? Known(*done / *forecast.tokens) : std::nullopt;
}

std::string WhyPartial(const HistoryRun& run) {
  const Known share = ShareDone(run);
  const bool whole = !share || std::abs(*share - 1) <= kSameWork;
  const std::string part = share ? fmt::format(" after {:.0f} % of the work planned", 100 * *share) : "";
  if (run.exit != "exit 0") return fmt::format("the command ended with {}{}", run.exit, part);
  return whole ? "" : fmt::format("the command did {:.0f} % of the work planned", 100 * *share);
}

Known Actual(const HistoryRun& run, ForecastQuantity quantity) {
  const RunFigures& f = run.figures;
  const Known hours = run.ended ? Known(InHours(*run.ended - run.started)) : Known();
  switch (quantity) {
    case ForecastQuantity::kHours:
      return hours;
    case ForecastQuantity::kGpuHours:
      if (f.window_ns) return InHours(*f.window_ns);
      return hours && run.forecast->gpus ? Known(*hours * *run.forecast->gpus) : Known();
    case ForecastQuantity::kCost:
      return f.currency == run.forecast->currency ? Dollars(f.cost_nano) : Known();
    case ForecastQuantity::kTokensPerSecond: {
      const Known tokens = TokensOf({f.pace_steps, f.pace_samples, f.pace_tokens, {}}, ScaleOf(*run.forecast));
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

// Whether a figure is of the whole work, so that a part of it cannot be compared.
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
