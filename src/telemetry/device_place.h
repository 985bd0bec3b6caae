#pragma once

#include "telemetry/device.h"

namespace idleburn {

// Whether people look for `a` before `b`: by host, index, else bus id or UUID, and a MIG instance behind its board, by
// its id. Of two that nothing tells apart the one that was read first.
bool StandsBefore(DeviceId a, DeviceId b, const DeviceTable& devices);

// Whether the devices are of several hosts, so that an index alone names none of them.
bool OfSeveralHosts(const DeviceTable& devices);

}  // namespace idleburn
