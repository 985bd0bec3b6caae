#pragma once

#include <string>

#include "audit/audit_report.h"
#include "report/format_writers.h"

namespace idleburn {

// The audit on one screen: the verdict, a bar of the bill, why, what to do next, the GPUs that wasted most, and where
// the rest is. It is the text of an audit without --full. It takes its sentences and figures from the same view as the
// full report (report/audit_view.h), so the two cannot disagree.
std::string AuditScreen(const AuditReport& report, const Paper& paper);

}  // namespace idleburn
