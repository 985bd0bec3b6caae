#pragma once

#include <vector>

#include "telemetry/live_sink.h"

namespace idleburn {

// What decides the price of this machine (instance type, region, market), as facts of a run. Empty if the machine does
// not tell. `ask_cloud` asks the cloud's metadata service too, for a second at most; standard error says if it fails.
std::vector<RunFact> MachineFacts(bool ask_cloud);

}  // namespace idleburn
