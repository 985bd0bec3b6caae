#pragma once

#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <vector>

#include "fleet/allocation_report.h"
#include "report/report_page.h"

// What a scheduler allocated, as a part of a fleet's answer (report/fleet_output.h).
namespace idleburn {

// Sentences for the reasons of the verdict: allocated of what exists, and allocated without use.
std::vector<std::string> AllocationWhy(const FleetAllocation& allocation);
// Resources, then who held them. Without an allocation it has no rows.
ReportTable AllocationTable(const std::optional<FleetAllocation>& allocation);
// The key `allocation` of docs/json/fleet.md; null without one.
nlohmann::ordered_json AllocationJson(const std::optional<FleetAllocation>& allocation);

}  // namespace idleburn
