#pragma once

#include "audit/live_record.h"
#include "report/write_audit.h"

namespace idleburn {

// Audits a live run that has ended and writes the report; then prints what the host did and what happened, unless that
// would mix with the report. `why_no_gpu`: why none was measured, if none was.
ReportEnd ReportLive(const AuditPlan& plan, const LiveRecord& record, const std::string& why_no_gpu,
                     const Environment& environment);

}  // namespace idleburn
