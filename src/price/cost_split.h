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

using CostLines = std::array<std::int64_t, kLineCount>;  // nano-units on each line of the bill

// The costs of the lines, a total split by their time, split over the devices, so that what the devices sum to is the
// total split by their time, both by largest remainder. A cell without time costs nothing. The others are their exact
// part of the total rounded down or up; where no such table has both sums, a billionth or so beside it; and where none
// has them at all, as when one device was only idle and another only busy, the lines' sums count.
Result<std::vector<CostLines>> SplitOverDevices(const CostLines& lines, std::span<const DeviceTime> devices);

// Splits what each device of a priced run held and cost over the runs of its log (RunResult::runs), line by line and by
// largest remainder, so that runs sum to their device, devices to their run, and all to the whole. The parts are those
// that the device had in each run. Slices that no instance has go by the length of the runs, and so do lines of a MIG
// board that sharing it alone has made. Sets `runs` of the report and of its devices.
Result<void> SplitOverRuns(const RunResult& run, const DeviceTable& devices, CostReport* report);

}  // namespace idleburn
