#pragma once

#include <span>
#include <string>

#include "fleet/fleet_report.h"
#include "report/html_charts.h"
#include "report/report_page.h"

// The pictures of a fleet's page, and tables that exist for them. Names are unescaped.
namespace idleburn {

// GPU-hours by phase of the first owners, as a bar for each.
ReportChart FleetPhaseChart(std::span<const FleetOwner> owners);
// Idle GPU-hours of each UTC day of the window.
ReportTable FleetDayTable(const FleetReport& report);
// How many jobs waited how long; empty without a list of jobs.
ReportTable FleetQueueTable(const FleetReport& report);

}  // namespace idleburn
