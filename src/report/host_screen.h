#pragma once

#include <string>
#include <string_view>

#include "audit/audit_report.h"
#include "report/format_writers.h"

namespace idleburn {

// What a wait of the host means for a job: how it is said, and what to try.
struct HostBound {
  HostSignal signal;
  std::string_view waits;  // "waited for a CPU"
  std::string_view next;
};

// What bounds a job without a GPU, from the host's counters: the wait that took most of the time, from 10 % on. Null if
// no wait stands out, and then nothing is claimed. A wait is counted over all threads of the job, so it may exceed
// 100 %. It is wrong where threads wait that the steps do not wait for, such as a logger; the report therefore says
// what was seen, and names a measurement that would prove it.
const HostBound* BoundOf(const HostUse& use);

// The screen of a live run that measured no GPU: how much work in what time, what the host shows, and why no GPU was
// measured. It claims no cost and no GPU time.
std::string HostScreen(const AuditReport& report, const Paper& paper);

}  // namespace idleburn
