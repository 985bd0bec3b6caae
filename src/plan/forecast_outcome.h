#pragma once

#include <optional>
#include <string>
#include <vector>

#include "history/run.h"
#include "plan/forecast_error.h"

namespace idleburn {

// A figure of a forecast beside what came; absent where it is not known.
struct ForecastLine {
  ForecastQuantity quantity = ForecastQuantity::kHours;
  std::optional<LikelyRange> forecast;
  std::optional<double> actual;
  bool comparable = false;  // both are known, and of the same work
};

// How a forecast came out.
struct ForecastOutcome {
  std::vector<ForecastLine> lines;  // one a quantity, in their order
  std::string why_partial;          // why hours, GPU-hours and cost are not compared; empty: they are
};
// Of a run that has ended and has a forecast.
ForecastOutcome OutcomeOf(const HistoryRun& run);

}  // namespace idleburn
