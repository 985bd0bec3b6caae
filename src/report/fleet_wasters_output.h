#pragma once

#include "fleet/fleet_report.h"
#include "report/report_page.h"

namespace idleburn {

// The jobs that waste most as a table: for each cause a row with the part of the waste that it explains and its fix,
// and a row for what no cause explains.
ReportTable FleetWastersTable(const FleetReport& report);

}  // namespace idleburn
