#pragma once

#include <string>

#include "fleet/fleet_report.h"
#include "report/fleet_gpus_output.h"
#include "report/format_writers.h"
#include "report/report_page.h"

namespace idleburn {

// The writers of `idleburn fleet`.
ReportPage FleetPage(const FleetReport& report);
// The document of docs/json/fleet.md, schema idleburn.fleet/1.
std::string FleetJson(const FleetReport& report);
// One row for each team, user, job and experiment, with the exact figures.
std::string FleetCsv(const FleetReport& report);

// The same answer as a table of jobs, for `idleburn fleet jobs`.
ReportPage FleetJobsPage(const FleetReport& report);
std::string FleetJobsCsv(const FleetReport& report);

inline constexpr auto kFleetWriters = std::to_array<FormatWriter<FleetReport>>({
    {ReportFormat::kText, AsText<FleetPage, FleetReport>},
    {ReportFormat::kJson, OnAnyPaper<FleetJson>},
    {ReportFormat::kHtml, AsHtml<FleetPage, FleetReport>},
    {ReportFormat::kCsv, OnAnyPaper<FleetCsv>},
    {ReportFormat::kMarkdown, AsMarkdown<FleetPage, FleetReport>},
});

inline constexpr auto kFleetJobsWriters = std::to_array<FormatWriter<FleetReport>>({
    {ReportFormat::kText, AsText<FleetJobsPage, FleetReport>},
    {ReportFormat::kJson, OnAnyPaper<FleetJson>},
    {ReportFormat::kHtml, AsHtml<FleetJobsPage, FleetReport>},
    {ReportFormat::kCsv, OnAnyPaper<FleetJobsCsv>},
    {ReportFormat::kMarkdown, AsMarkdown<FleetJobsPage, FleetReport>},
});

inline constexpr auto kFleetGpusWriters = std::to_array<FormatWriter<FleetReport>>({
    {ReportFormat::kText, AsText<FleetGpusPage, FleetReport>},
    {ReportFormat::kJson, OnAnyPaper<FleetJson>},
    {ReportFormat::kHtml, AsHtml<FleetGpusPage, FleetReport>},
    {ReportFormat::kCsv, OnAnyPaper<FleetGpusCsv>},
    {ReportFormat::kMarkdown, AsMarkdown<FleetGpusPage, FleetReport>},
});

}  // namespace idleburn
