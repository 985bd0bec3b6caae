#pragma once

#include <string>
#include <vector>

#include "audit/audit_report.h"

namespace idleburn {

// How often the GPUs were really read, where that is not one steady pace: periods that change midway, an exporter that
// collects less often than it is scraped, stamps that are coarser than the readings. One line each; none elsewhere.
std::vector<std::string> PaceLines(const AuditReport& report);

}  // namespace idleburn
