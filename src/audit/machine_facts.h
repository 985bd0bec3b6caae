#pragma once

#include <vector>

#include "audit/audit_report.h"
#include "telemetry/device.h"
#include "telemetry/live_sink.h"
#include "telemetry/run_facts.h"

namespace idleburn {
// Returns the facts that decide the price of this machine: instance type, region and market. Empty if the machine does
// not tell them. `ask_cloud` also asks the cloud's metadata service, for at most a second; a failure is said on
// standard error.
std::vector<RunFact> MachineFacts(bool ask_cloud);

// What the links of each device can move, by DeviceId. PCIe comes from what an input tells of the link
// (import/device_facts.h): boards of one model sit in slots of different speed. NVLink comes from the model, and from
// the number of links that a recording counts as up.
std::vector<LinkSpeed> LinksOf(const DeviceTable& devices, const RunFacts& facts);

}  // namespace idleburn
