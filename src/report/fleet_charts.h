#pragma once

#include <span>
#include <string>
#include <vector>

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

// From all GPUs to effective ones: GPU-hours of closed hours that were allocated, active and effective. Empty without
// closed hours.
ReportTable FleetFunnelTable(const FleetReport& report);
// The panels of hardware, hosts and agents, each with its lines over time. A table for the single figures of a section.
std::vector<ReportTable> FleetPanelTables(const FleetReport& report);

}  // namespace idleburn
