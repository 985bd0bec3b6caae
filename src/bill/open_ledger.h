#pragma once

#include <string>

#include "base/result.h"
#include "fleet/fleet_ledger.h"

namespace idleburn {

// Opens a fleet's ledger of closed hours. Fails if there is none: nothing is created.
Result<FleetLedger> OpenLedger(const std::string& path);

}  // namespace idleburn
