#pragma once

#include <string>

#include "audit/audit_report.h"

namespace idleburn {

// The timeline of traced GPUs in the HTML report: what each did, its idle gaps with their causes, its steps, one GPU
// under the other. web/timeline.js draws it.
//
// A page must open quickly whatever the trace holds, so the data have levels of detail. Two rows of columns cover the
// whole window: how long the GPU was idle in each column, and with what it was busy. The longest events and gaps are
// there one by one; of a small trace these are all. So a trace of a million events makes a page of a few megabytes, and
// drawing touches a few thousand shapes.

// Limits over all GPUs of a page.
inline constexpr std::size_t kTimelineEvents = 40'000;
inline constexpr std::size_t kTimelineGaps = 20'000;
inline constexpr std::size_t kTimelineGpus = 64;
inline constexpr std::size_t kCoarseColumns = 1024;
inline constexpr std::size_t kFineColumns = 16'384;  // only for GPUs with more events than are kept

// The data for the script, as JSON that is safe inside a <script> element. Empty without a trace, or without profiles.
std::string TimelineJson(const AuditReport& report);

// The section with the place for the drawing. Nothing without a trace.
void AppendTimeline(const AuditReport& report, std::string* out);

}  // namespace idleburn
