#pragma once

#include <span>
#include <string>
#include <vector>

#include "history/run.h"
#include "tco/actuals.h"

namespace idleburn {

// What runs of the history cost, as a bill of compute: by the month (UTC) in which each started, with the GPU-hours
// that its price was paid for. A month with a run that goes on is open. What is left out is told, a line each.
ActualBill BillOfRuns(std::span<const HistoryRun> runs, const std::string& currency, std::vector<std::string>& told);

}  // namespace idleburn
