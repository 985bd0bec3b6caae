#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "cli/cmd_audit.h"
#include "config/settings.h"
#include "terminal/environment.h"

namespace idleburn {

// `idleburn audit A --vs B`: audits both sides and writes what differs between them. Each side may have a trace of each
// rank. Fails with a usage error if a side has anything but profilers' files, and on flags that need a whole audit.
Result<int> DiffTracesOf(const AuditRequest& request, const std::vector<std::string>& after, const Settings& settings,
                         const Environment& environment);

}  // namespace idleburn
