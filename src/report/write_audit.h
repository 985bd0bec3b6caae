#pragma once

#include "audit/audit.h"
#include "audit/live_record.h"
#include "history/run.h"
#include "terminal/environment.h"

namespace idleburn {

// How a report ended. Gates are judged even if it could not be written; a gate that cannot be judged does not hold.
struct ReportEnd {
  Result<void> written;
  bool gates_hold = true;  // standard error names those that do not
  RunFigures figures;      // for the history
  // The exit code of a command that lives by its report: 0, kExitGate, or why there is no report.
  [[nodiscard]] Result<int> Code() const;
};

// Writes a finished audit in the format and to the place of the plan, then judges its gates.
ReportEnd WriteAudit(const Audited& audited, const AuditPlan& plan, const Environment& environment);

// What the history keeps of an audit. Work is kept also where no GPU was measured.
RunFigures FiguresOf(const Audited& audited, const AuditPlan& plan);

// Audits a live run that has ended and writes the report; then prints what the host did and what happened, unless that
// would mix with the report. `why_no_gpu`: why none was measured, if none was.
ReportEnd ReportLive(const AuditPlan& plan, const LiveRecord& record, const std::string& why_no_gpu,
                     const Environment& environment);

}  // namespace idleburn
