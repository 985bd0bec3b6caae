#pragma once

#include "audit/audit_report.h"
#include "history/run.h"
#include "price/work.h"
#include "run/run_summary.h"

namespace idleburn {

// What the history keeps of an audit. Work is kept also where no GPU was measured.
RunFigures FiguresOf(const AuditReport& report, const WorkDone& work, const std::optional<WorkPace>& pace);

}  // namespace idleburn
