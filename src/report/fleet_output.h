#pragma once

#include <string>

#include "fleet/fleet_report.h"
#include "report/format_writers.h"
#include "report/report_page.h"

namespace idleburn {

// The writers of `idleburn fleet`.
ReportPage FleetPage(const FleetReport& report);
// The document of docs/json/fleet.md, schema idleburn.fleet/1.
std::string FleetJson(const FleetReport& report);
// One row for each team, user, job and experiment, with the exact figures.
std::string FleetCsv(const FleetReport& report);

inline constexpr auto kFleetWriters = std::to_array<FormatWriter<FleetReport>>({
    {ReportFormat::kText, AsText<FleetPage, FleetReport>},
    {ReportFormat::kJson, OnAnyPaper<FleetJson>},
    {ReportFormat::kHtml, AsHtml<FleetPage, FleetReport>},
    {ReportFormat::kCsv, OnAnyPaper<FleetCsv>},
    {ReportFormat::kMarkdown, AsMarkdown<FleetPage, FleetReport>},
});

}  // namespace idleburn
