#pragma once

#include <cstdint>

#include "audit/audit_plan.h"
#include "base/result.h"
#include "fleet/engine.h"
#include "fleet/fleet_ledger.h"
#include "fleet/fleet_report.h"
#include "price/catalogue.h"

// Adds to a fleet's answer what fleet/gpu_findings.h describes.
namespace idleburn {

struct GpuQuestion {
  const Catalogue& catalogue;
  const EnergyPrice& energy;
  std::int64_t pue_millionths = 1'000'000;
};

// Fills gpu_use, energy, right_sizing and packing for the closed hours of `*report`. An engine without the counters
// leaves the first three absent. One that does not answer leaves them absent with a doubt: the bill is not affected.
// Fails if the ledger cannot be read or an amount is more than Money holds.
Result<void> AddGpuFindings(Engine& engine, FleetLedger& ledger, const GpuQuestion& question, FleetReport* report);

}  // namespace idleburn
