#pragma once

#include "audit/audit.h"
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

// The figures that the history keeps of an audit.
RunFigures FiguresOf(const Audited& audited, const AuditPlan& plan);

}  // namespace idleburn
