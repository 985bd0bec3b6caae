#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "base/result.h"
#include "classify/thresholds.h"
#include "classify/totals.h"
#include "import/importer.h"
#include "telemetry/device.h"

// Logs and recordings, classified hour by hour with the rules of an audit.
namespace idleburn {

struct HourlyUse {
  // Once, when all devices are known. Both live until ReadByHour returns.
  std::function<Result<void>(const DeviceTable& devices, const OwnerLedger& owners)> begin;
  // Each GPU in each hour in which any GPU was read. `hour` is its begin, Unix seconds; the phases and unobserved time
  // fill it.
  std::function<void(DeviceId device, std::int64_t hour, const DeviceTotals& totals)> take;
};

// Fails on a profiler's file, and on inputs that cannot be joined.
Result<void> ReadByHour(const std::vector<std::string>& inputs, const ImportOptions& options,
                        const Thresholds& thresholds, const HourlyUse& use);

}  // namespace idleburn
