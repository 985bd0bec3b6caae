#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "diagnose/finding.h"
#include "diagnose/host_evidence.h"

namespace idleburn {

// Which of the loader's causes the host's signals speak for.
struct LoaderVerdict {
  std::string_view cause;  // id of the cause table; "" if none fits
  bool excluded = false;   // every cause was looked for and refuted: the host does not explain the wait
  std::vector<std::string> evidence;
  std::vector<std::string> refuters;  // of the cause: those not measured
};
LoaderVerdict JudgeLoader(const HostEvidence& host);

// Lets the host's signals choose the cause of a loader finding: two independent signals that agree confirm it, unless
// `few_steps`. Other findings, and those that the signals do not decide, are left as they are.
void JoinHostEvidence(const HostEvidence& host, bool few_steps, Finding& finding);

}  // namespace idleburn
