// Grafana dashboards over the agent's metrics (docs/fleet-dashboards.md). All panels are rows of one table,
// fleet/dashboard_panels.h. They show rates and estimates. Bills come from closed hours, never from a panel.

#pragma once

#include <string>
#include <vector>

#include "fleet/dashboard_panels.h"

namespace idleburn {

// One dashboard as Grafana imports it.
struct FleetDashboard {
  std::string file;  // "idleburn-cluster.json"
  std::string json;  // one document, indented, with a line break at its end
};

// The query of a row, with Grafana's variables in it. Each rate and each increase of a counter is taken once, whatever
// number of engines wrote it.
std::string DashboardQuery(const PanelRow& row);

// All five dashboards. The same on every call.
std::vector<FleetDashboard> FleetDashboards();

}  // namespace idleburn
