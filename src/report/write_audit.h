#pragma once

#include "audit/audit.h"
#include "audit/live_record.h"
#include "history/run.h"
#include "terminal/environment.h"

namespace idleburn {

// How a report ended. Gates (--fail-on) are judged even if the report could not be written. A gate that cannot be
// judged counts as broken, because a script must not pass by lack of data.
struct ReportEnd {
  Result<void> written;
  bool gates_hold = true;  // broken gates are named on standard error
  RunFigures figures;      // for the history
  // The exit code of a command whose purpose is its report: 0, kExitGate, or the error that prevented the report.
  [[nodiscard]] Result<int> Code() const;
};

// Writes a finished audit in the format and to the place of the plan, then judges the gates and collects the figures
// for the history.
ReportEnd WriteAudit(const Audited& audited, const AuditPlan& plan, const Environment& environment);

// The figures that the history keeps of an audit (docs/history.md). Without a GPU only work and pace are kept.
RunFigures FiguresOf(const Audited& audited, const AuditPlan& plan);

// Audits a live run that has ended and writes its report. Then prints on standard error what the host did and what
// happened, unless that would mix with a report there. `why_no_gpu` says why no GPU was measured, if so.
ReportEnd ReportLive(const AuditPlan& plan, const LiveRecord& record, const std::string& why_no_gpu,
                     const Environment& environment);

}  // namespace idleburn
