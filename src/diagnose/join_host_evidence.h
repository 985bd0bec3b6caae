#pragma once

#include "diagnose/finding.h"
#include "diagnose/host_evidence.h"

namespace idleburn {

// Lets the host's signals choose the cause of a loader finding of a trace. Where they show one, two independent signals
// agree and it is confirmed, unless the trace has `few_steps`. Where they speak against the one that a trace alone
// names and show no other, the cause is unknown. Without signals, and of other findings, nothing changes.
void JoinHostEvidence(const HostEvidence& host, bool few_steps, Finding& finding);

}  // namespace idleburn
