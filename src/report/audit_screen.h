#pragma once

#include <string>

#include "audit/audit_report.h"
#include "report/format_writers.h"

namespace idleburn {

// The audit on one screen: the verdict, a bar of the bill, why, what to do next, the GPUs that wasted most, and where
// the rest is. It is the text of an audit without --full. It takes its sentences and figures from the same view as the
// full report (report/audit_view.h), so the two cannot disagree. `rows` is less than a screen where a command prints
// lines of its own below.
std::string AuditScreen(const AuditReport& report, const Paper& paper, std::size_t rows);

}  // namespace idleburn
