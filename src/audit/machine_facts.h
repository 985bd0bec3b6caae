#pragma once

#include <vector>

#include "telemetry/live_sink.h"

namespace idleburn {
// Returns the facts that decide the price of this machine: instance type, region and market. Empty if the machine does
// not tell them. `ask_cloud` also asks the cloud's metadata service, for at most a second; a failure is said on
// standard error.
std::vector<RunFact> MachineFacts(bool ask_cloud);

}  // namespace idleburn
