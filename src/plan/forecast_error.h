#pragma once

#include <array>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "plan/plan_report.h"

namespace idleburn {

// What a plan forecasts of a run, and last what a scenario of costs forecasts of a month.
enum class ForecastQuantity : std::uint8_t { kHours, kGpuHours, kCost, kTokensPerSecond, kMemory, kScenarioCost };
inline constexpr std::size_t kForecastQuantityCount = 5;  // of a run
inline constexpr std::array<std::string_view, kForecastQuantityCount + 1> kForecastQuantityNames = {
    "hours", "gpu_hours", "cost", "tokens_per_s_per_gpu", "memory_bytes", "scenario_cost"};

// A forecast figure with its 90 % interval, and what came of it; both above 0.
struct JudgedForecast {
  std::string run;
  std::string month;  // "2026-11", in which the run ended
  ForecastQuantity quantity = ForecastQuantity::kHours;
  LikelyRange forecast;
  double actual = 0;

  // forecast / actual - 1: above 0, more was forecast than came.
  [[nodiscard]] double Error() const { return forecast.likely / actual - 1; }
  // Whether there is an interval; a figure that was only stated has none.
  [[nodiscard]] bool HasInterval() const { return forecast.low < forecast.high; }
  [[nodiscard]] bool Inside() const { return actual >= forecast.low && actual <= forecast.high; }
};

// Fewer runs say nothing of forecasts in general, and fewer still of the worst of twenty.
inline constexpr std::size_t kFewestForecasts = 5;
inline constexpr std::size_t kFewestForTail = 20;

// The errors of one quantity in one month.
struct MonthOfErrors {
  std::string month;
  ForecastQuantity quantity = ForecastQuantity::kHours;
  std::size_t n = 0;
  // Absent below kFewestForecasts; `p95` below kFewestForTail.
  std::optional<double> median;    // of |error|
  std::optional<double> p95;       // of |error|
  std::optional<double> bias;      // mean of the errors with their signs
  std::optional<double> coverage;  // share of the runs with an interval whose figure lay inside it
  std::string worst_run;
  double worst_error = 0;  // with its sign
};

// By month, the newest first, then by quantity; what a month lacks has no row.
std::vector<MonthOfErrors> ErrorsByMonth(std::span<const JudgedForecast> forecasts);

}  // namespace idleburn
