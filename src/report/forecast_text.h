#pragma once

#include <string>
#include <string_view>

#include "plan/forecast_outcome.h"

namespace idleburn {

// A quantity for people: "hours", "tokens/s per GPU".
std::string_view Title(ForecastQuantity quantity);

// The table of an outcome for a terminal, with the verdict first.
std::string OutcomeText(const HistoryRun& run, int width);

}  // namespace idleburn
