#pragma once

#include "history/run.h"
#include "price/work.h"
#include "report/audit_report.h"

namespace idleburn {

// What the history keeps of an audit.
RunFigures FiguresOf(const AuditReport& report, const WorkDone& work);

}  // namespace idleburn
