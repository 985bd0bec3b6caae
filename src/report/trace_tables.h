#pragma once

#include <string>
#include <vector>

#include "report/report_table.h"
#include "report/view_context.h"

namespace idleburn {

// What traces add to a view; without a trace the tables have no rows.

// A row for each device and window: how the device's time splits, which adds up to the span exactly.
ReportTable TraceTable(const ViewContext& c);
// What stood between a device and its next event, for the windows that decide.
ReportTable IdleTable(const ViewContext& c);
// The verdict of a run of which only traces are there.
std::string TracedVerdict(const ViewContext& c);
// How a trace's figures are counted.
std::vector<std::string> TraceBasis(const ViewContext& c);

}  // namespace idleburn
