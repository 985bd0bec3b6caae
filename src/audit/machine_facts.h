#pragma once

#include <vector>

#include "audit/audit_report.h"
#include "telemetry/device.h"
#include "telemetry/live_sink.h"
#include "telemetry/run_facts.h"

namespace idleburn {
// What decides the price of this machine (instance type, region, market), as facts of a run. Empty if the machine does
// not tell. `ask_cloud` asks the cloud's metadata service too, for a second at most; standard error says if it fails.
std::vector<RunFact> MachineFacts(bool ask_cloud);

// What the links of each device of a run can move, by DeviceId: PCIe by what an input tells (import/device_facts.h),
// never by its model alone; NVLink by its model and the links that its recording counts as up.
std::vector<LinkSpeed> LinksOf(const DeviceTable& devices, const RunFacts& facts);

}  // namespace idleburn
