#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "audit/audit_plan.h"
#include "base/result.h"
#include "fleet/fleet_report.h"
#include "fleet/gpu_counters.h"

// How busy the GPUs of a fleet were and what they drew, from the agents' live counters.
namespace idleburn {

// The PUE of a site, total power over power of the machines, in millionths. "1.3" is 1,300,000. Fails below 1.
Result<std::int64_t> ParsePue(const std::string& text);

// The time of each GPU by decile, idle memory and throttling. `report` has the closed time of each GPU: what its
// deciles lack of that is unobserved.
FleetGpuUse UseOf(const GpuCountersRead& read, const FleetReport& report);

// Energy by the driver's counter, else by power over time. A GPU with neither is named and adds nothing. Fails if the
// cost is more than Money holds.
Result<FleetEnergy> EnergyOf(const GpuCountersRead& read, const EnergyPrice& price, std::int64_t pue_millionths);

}  // namespace idleburn
