#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "classify/totals.h"
#include "fleet/fleet_report.h"
#include "report/format_writers.h"
#include "report/report_page.h"

// What a fleet's GPUs did, drew and needed (docs/fleet-gpus.md), for people and as CSV.
namespace idleburn {

// The tables of --full; none if the report has no such figures.
void AddGpuTables(const FleetReport& report, ReportPage* page);

// The same with a verdict of its own, for `idleburn fleet gpus`.
ReportPage FleetGpusPage(const FleetReport& report);
// One row for each GPU, with the exact figures.
std::string FleetGpusCsv(const FleetReport& report);

// Whether a reason of lowered clocks is a slow-down, and not a power cap. A cap at high load is how a full board runs.
constexpr bool IsSlowdown(std::size_t reason) { return ((kThrottledMask & ~kPowerCapMask) >> reason & 1) != 0; }
constexpr bool IsPowerCap(std::size_t reason) { return (kPowerCapMask >> reason & 1) != 0; }

// "driver_counter", "power" or "none".
std::string_view Name(EnergySource source);

}  // namespace idleburn
