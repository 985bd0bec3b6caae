#pragma once

#include <functional>
#include <memory>

#include "audit/audit_plan.h"
#include "audit/audit_report.h"
#include "audit/run_inputs.h"

namespace idleburn {

// A finished audit. `report.devices` and `report.quality` point into `run`, so both travel together.
struct Audited {
  std::shared_ptr<RunInputs> run;
  AuditReport report;
};

// The first step: reads files, or hands over what a live session has recorded.
using ReadStep = std::function<Result<std::shared_ptr<RunInputs>>()>;

// The whole audit of one run: Read, Classify, Price, Diagnose, Advise, Report. Every command that audits calls this, so
// no two of them can disagree about a figure. Fails if the inputs cannot be read or hold no GPU, and if a price that
// the user stated fits no GPU. Prints nothing but the gates that cannot be judged because pricing failed.
Result<Audited> Audit(const ReadStep& read, const AuditPlan& plan);

// The work that the unit costs divide by: --work, else what the run counted itself.
WorkDone WorkOf(const AuditPlan& plan, const RunInputs& run);

}  // namespace idleburn
