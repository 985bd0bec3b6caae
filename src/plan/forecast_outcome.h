#pragma once

#include <array>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "history/run.h"
#include "plan/plan_report.h"

namespace idleburn {

// How good forecasts were. A run that was started from a plan keeps its forecast; once it has ended, every figure is
// set beside what came, and errors are summed up by month. Only figures of the same work are compared: a run that
// stopped early says nothing of the hours that were forecast.

// What a plan forecasts of a run; the last one is what a scenario of costs forecasts of a month.
enum class ForecastQuantity : std::uint8_t { kHours, kGpuHours, kCost, kTokensPerSecond, kMemory, kScenarioCost };
// How many quantities are forecast of a run, and the names of all quantities in reports.
inline constexpr std::size_t kForecastQuantityCount = 5;  // of a run
inline constexpr std::array<std::string_view, kForecastQuantityCount + 1> kForecastQuantityNames = {
    "hours", "gpu_hours", "cost", "tokens_per_s_per_gpu", "memory_bytes", "scenario_cost"};

// A forecast figure with its 90 % interval, and what came of it; both above 0.
struct JudgedForecast {
  std::string run;
  // The month in which the run ended: "2026-11".
  std::string month;
  ForecastQuantity quantity = ForecastQuantity::kHours;
  LikelyRange forecast;
  double actual = 0;

  // forecast / actual - 1: above 0, more was forecast than came.
  [[nodiscard]] double Error() const { return forecast.likely / actual - 1; }
  // Whether there is an interval; a figure that was only stated has none.
  [[nodiscard]] bool HasInterval() const { return forecast.low < forecast.high; }
  [[nodiscard]] bool Inside() const { return actual >= forecast.low && actual <= forecast.high; }
};

// The fewest runs that say anything of forecasts in general. The worst of twenty needs more.
inline constexpr std::size_t kFewestForecasts = 5;
inline constexpr std::size_t kFewestForTail = 20;

// The errors of one quantity in one month.
struct MonthOfErrors {
  std::string month;
  ForecastQuantity quantity = ForecastQuantity::kHours;
  std::size_t n = 0;
  // Of the errors' sizes. These four are absent below kFewestForecasts, and `p95` below kFewestForTail.
  std::optional<double> median;
  std::optional<double> p95;
  // The mean of the errors with their signs.
  std::optional<double> bias;
  // Of the runs with an interval, the share whose figure lay inside it.
  std::optional<double> coverage;
  std::string worst_run;
  // With its sign.
  double worst_error = 0;
};

// Sums up forecasts by month, the newest first, then by quantity. What a month lacks has no row.
std::vector<MonthOfErrors> ErrorsByMonth(std::span<const JudgedForecast> forecasts);

// A figure of a forecast beside what came; absent where it is not known.
struct ForecastLine {
  ForecastQuantity quantity = ForecastQuantity::kHours;
  std::optional<LikelyRange> forecast;
  std::optional<double> actual;
  // Whether both figures are known, and of the same work.
  bool comparable = false;
};

// How a forecast came out.
struct ForecastOutcome {
  // One line a quantity, in their order.
  std::vector<ForecastLine> lines;
  // Why hours, GPU-hours and cost are not compared. Empty if they are.
  std::string why_partial;
};
// Compares every figure of a run that has ended and has a forecast.
ForecastOutcome OutcomeOf(const HistoryRun& run);

}  // namespace idleburn
