#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "base/time.h"
#include "plan/forecast_error.h"

namespace idleburn {

// How far the plan of a scenario was off what was paid, in each month whose bill is complete. `actuals` is a file as
// idleburn tco reads it.
Result<std::vector<JudgedForecast>> ScenarioForecasts(const std::string& scenario, const std::string& actuals,
                                                      Instant now);

}  // namespace idleburn
