#pragma once

#include <string>
#include <vector>

#include "base/run_ids.h"
#include "config/output_format.h"
#include "history/run.h"
#include "plan/plan_report.h"
#include "report/format_writers.h"
#include "report/report_page.h"

namespace idleburn {

// How far the forecasts of a history were off, by month and quantity (docs/plan.md, "Carried out"). Errors are
// relative: forecast / actual - 1.
struct ForecastErrors {
  std::string file;
  RunIds ids;  // shared by the runs with a forecast that have ended
  std::vector<MonthOfErrors> months;
  std::size_t forecasts = 0;  // runs with a forecast
  std::size_t running = 0;    // of these, runs that have not ended
  std::size_t partial = 0;    // of these, runs that did other work than planned: only their speed and memory count
  std::size_t scenario = 0;   // closed months of a cost scenario
};
// Judges all forecasts of `runs`. `months` are judged months of a cost scenario, or empty. Runs that have not ended are
// counted and left out.
ForecastErrors ErrorsOf(const std::vector<HistoryRun>& runs, std::vector<JudgedForecast> months = {});

// The page hides figures that rest on too few runs, and says so; CSV and JSON leave them empty.
ReportPage ForecastErrorsPage(const ForecastErrors& errors);
std::string ForecastErrorsCsv(const ForecastErrors& errors);
// The document of docs/json.md, schema idleburn.forecast_errors/1.
std::string ForecastErrorsJson(const ForecastErrors& errors);

inline constexpr auto kForecastErrorWriters = std::to_array<FormatWriter<ForecastErrors>>({
    {ReportFormat::kText, AsText<ForecastErrorsPage>},
    {ReportFormat::kJson, OnAnyPaper<ForecastErrorsJson>},
    {ReportFormat::kHtml, AsHtml<ForecastErrorsPage>},
    {ReportFormat::kMarkdown, AsMarkdown<ForecastErrorsPage>},
    {ReportFormat::kCsv, OnAnyPaper<ForecastErrorsCsv>},
});

}  // namespace idleburn
