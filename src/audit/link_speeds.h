#pragma once

#include <vector>

#include "audit/audit_report.h"
#include "telemetry/device.h"
#include "telemetry/run_facts.h"

namespace idleburn {

// What the links of each device of a run can move, by DeviceId: PCIe by what an input tells (import/device_facts.h),
// never by its model alone; NVLink by its model and the links that its recording counts as up.
std::vector<LinkSpeed> LinksOf(const DeviceTable& devices, const RunFacts& facts);

}  // namespace idleburn
