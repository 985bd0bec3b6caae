#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <vector>

#include "base/result.h"
#include "classify/totals.h"
#include "price/cost_report.h"
#include "price/gpu_time.h"

namespace idleburn {

// Nano-units on each line of the bill.
using CostLines = std::array<std::int64_t, kLineCount>;

// Splits the costs of the lines over the devices. Both borders of the table are given: the lines, and the totals of
// the devices, which are the total split by their time. Every cell is its exact part of the total, rounded down or
// up, and a cell without time costs nothing.
//
// Both borders cannot always be met. If rounding up does not suffice, a cell may be a billionth or so beside its
// part. If no table meets both, the lines win. Example: one device was only idle, another only busy, and their totals
// are rounded the other way than the lines.
Result<std::vector<CostLines>> SplitOverDevices(const CostLines& lines, std::span<const DeviceTime> devices);

// Splits what each device held and cost over the runs of its log (RunResult::runs), line by line and by largest
// remainder: the runs of a device sum to the device, and the devices of a run to the run. Weights are the device's
// own times in each run. Unallocated slices, and lines of a MIG board that only sharing made, go by the length of the
// runs. Sets `runs` of the report and of its devices.
Result<void> SplitOverRuns(const RunResult& run, const DeviceTable& devices, CostReport* report);

}  // namespace idleburn
