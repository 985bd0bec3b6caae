#pragma once

#include <string>

#include "bill/bill_forecast.h"
#include "report/format_writers.h"
#include "report/report_page.h"

// The writers of `idleburn bill forecast`.
namespace idleburn {

ReportPage ForecastPage(const BillForecast& forecast);
// The document of docs/json/bill-forecast.md, schema idleburn.bill_forecast/1.
std::string BillForecastJson(const BillForecast& forecast);
// One row for the fleet and each team.
std::string BillForecastCsv(const BillForecast& forecast);

inline constexpr auto kForecastWriters = std::to_array<FormatWriter<BillForecast>>({
    {ReportFormat::kText, AsText<ForecastPage, BillForecast>},
    {ReportFormat::kJson, OnAnyPaper<BillForecastJson>},
    {ReportFormat::kHtml, AsHtml<ForecastPage, BillForecast>},
    {ReportFormat::kCsv, OnAnyPaper<BillForecastCsv>},
    {ReportFormat::kMarkdown, AsMarkdown<ForecastPage, BillForecast>},
});

}  // namespace idleburn
