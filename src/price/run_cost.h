#pragma once

#include "base/result.h"
#include "classify/totals.h"
#include "price/cost_report.h"

namespace idleburn {

// Splits what each device of a priced run held and cost over the runs of its log (RunResult::runs), line by line and by
// largest remainder, so that runs sum to their device, devices to their run, and all to the whole. The parts are those
// that the device had in each run. Slices that no instance has go by the length of the runs, and so do lines of a MIG
// board that sharing it alone has made. Sets `runs` of the report and of its devices.
Result<void> SplitOverRuns(const RunResult& run, const DeviceTable& devices, CostReport* report);

}  // namespace idleburn
