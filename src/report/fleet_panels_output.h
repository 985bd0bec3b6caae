#pragma once

#include <vector>

#include "fleet/fleet_report.h"
#include "report/report_page.h"

namespace idleburn {

// From all GPUs to effective ones: GPU-hours of closed hours that were allocated, active and effective. Empty without
// closed hours.
ReportTable FleetFunnelTable(const FleetReport& report);
// The panels of hardware, hosts and agents, each with its lines over time. A table for the single figures of a section.
std::vector<ReportTable> FleetPanelTables(const FleetReport& report);

}  // namespace idleburn
