#pragma once

#include <string>
#include <vector>

#include "cli/command.h"
#include "cli/settings.h"
#include "history/run.h"
#include "plan/forecast_error.h"

namespace idleburn {

// How far the forecasts of a history were off, month by month.
struct ForecastErrors {
  std::string file;
  std::vector<MonthOfErrors> months;
  std::size_t forecasts = 0;  // runs with one
  std::size_t running = 0;    // that have not ended
  std::size_t partial = 0;    // that did not do the work planned: only speed and memory of them count
};
ForecastErrors ErrorsOf(const std::vector<HistoryRun>& runs);

std::string ForecastErrorsText(const ForecastErrors& errors, int width);
std::string ForecastErrorsMarkdown(const ForecastErrors& errors);
std::string ForecastErrorsCsv(const ForecastErrors& errors);
// The document of docs/json.md, schema idleburn.forecast_errors/1.
std::string ForecastErrorsJson(const ForecastErrors& errors);

// idleburn plan --errors
Result<int> RunPlanErrors(const Settings& settings, const std::string& format, const std::string& output,
                          const Environment& environment);

}  // namespace idleburn
