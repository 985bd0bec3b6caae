#pragma once

#include <string>
#include <vector>

#include "base/run_ids.h"
#include "config/output_format.h"
#include "config/settings.h"
#include "history/run.h"
#include "plan/forecast_error.h"
#include "terminal/environment.h"

namespace idleburn {

// How far the forecasts of a history were off, month by month.
struct ForecastErrors {
  std::string file;
  RunIds ids;  // of the runs with one that have ended
  std::vector<MonthOfErrors> months;
  std::size_t forecasts = 0;  // runs with one
  std::size_t running = 0;    // that have not ended
  std::size_t partial = 0;    // that did not do the work planned: only speed and memory of them count
  std::size_t scenario = 0;   // closed months of a scenario
};
// `months` are those of a scenario, or none.
ForecastErrors ErrorsOf(const std::vector<HistoryRun>& runs, std::vector<JudgedForecast> months = {});

// A scenario of costs and what was paid of it; both or neither.
struct ScenarioFiles {
  std::string scenario;
  std::string actuals;
};

std::string ForecastErrorsText(const ForecastErrors& errors, int width);
std::string ForecastErrorsMarkdown(const ForecastErrors& errors);
std::string ForecastErrorsCsv(const ForecastErrors& errors);
// The document of docs/json.md, schema idleburn.forecast_errors/1.
std::string ForecastErrorsJson(const ForecastErrors& errors);

// idleburn plan --errors [SCENARIO.toml --actuals FILE]
Result<int> RunPlanErrors(const Settings& settings, const ScenarioFiles& files, ReportFormat format,
                          const std::string& output, const Environment& environment);

}  // namespace idleburn
