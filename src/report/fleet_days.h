#pragma once

#include <string>

#include "fleet/team_days.h"
#include "report/format_writers.h"
#include "report/report_page.h"

namespace idleburn {

// The writers of `idleburn fleet days`.
ReportPage FleetDaysPage(const TeamDays& days);
// The document of docs/json/fleet-days.md, schema idleburn.fleet_days/1.
std::string FleetDaysJson(const TeamDays& days);
// One row for each day and team, with the exact milliseconds.
std::string FleetDaysCsv(const TeamDays& days);

inline constexpr auto kFleetDaysWriters = std::to_array<FormatWriter<TeamDays>>({
    {ReportFormat::kText, AsText<FleetDaysPage, TeamDays>},
    {ReportFormat::kJson, OnAnyPaper<FleetDaysJson>},
    {ReportFormat::kHtml, AsHtml<FleetDaysPage, TeamDays>},
    {ReportFormat::kCsv, OnAnyPaper<FleetDaysCsv>},
    {ReportFormat::kMarkdown, AsMarkdown<FleetDaysPage, TeamDays>},
});

}  // namespace idleburn
