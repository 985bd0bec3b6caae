#pragma once

#include <string>

#include "audit/audit_report.h"

namespace idleburn {

// The JSON document of docs/json.md, schema idleburn.audit/1.
std::string AuditJson(const AuditReport& report);
// For a terminal: verdict, why, next; then the tables. `width` columns; colour only if asked for.
std::string AuditText(const AuditReport& report, int width, bool color);
std::string AuditMarkdown(const AuditReport& report);
// One row per device and phase, for spreadsheets; safe against formula injection.
std::string AuditCsv(const AuditReport& report);
// One self-contained file: no network, no external script.
std::string AuditHtml(const AuditReport& report);

// What the charts of the HTML report draw, as a JSON text that may stand inside a <script> element: for each of
// the first `limit` devices its label and, per timeline bucket, mean utilization (percent) and power (watts),
// null where nothing was observed.
std::string ChartJson(const AuditReport& report, std::size_t limit);

}  // namespace idleburn
