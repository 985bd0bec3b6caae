#pragma once

#include <string>

#include "audit/audit_report.h"

namespace idleburn {

// What the charts of the HTML report draw, as a JSON text that may stand inside a <script> element: for each of
// the first `limit` devices its label and, per timeline bucket, mean utilization (percent) and power (watts),
// null where nothing was observed.
std::string ChartJson(const AuditReport& report, std::size_t limit);

}  // namespace idleburn
