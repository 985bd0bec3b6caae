#pragma once

#include <string>

#include "audit/audit_report.h"

namespace idleburn {

// The writers of an audit, one per format. Each is a pure function of the report and escapes what it prints for its
// own format. report/write_audit.cc picks one by --format.

// The document of docs/json.md, schema idleburn.audit/1.
std::string AuditJson(const AuditReport& report);
// For a terminal of `width` columns: verdict, why and next first, then the tables. Colour is used only if `color` is
// set, and never carries meaning alone.
std::string AuditText(const AuditReport& report, int width, bool color);
// The same for a page or a comment on a change. Prints no ribbons.
std::string AuditMarkdown(const AuditReport& report);
// For spreadsheets: one row per device and phase, and per run if a log has several; then one row per device and
// signal. Amounts keep all decimals. Cells cannot start a formula (CsvCell in text/escape.h).
std::string AuditCsv(const AuditReport& report);
// One self-contained file: it loads nothing from a network.
std::string AuditHtml(const AuditReport& report);

// The data of the charts of the HTML report, for the first `limit` devices with a timeline: label, start and step in
// seconds, and per bucket the mean utilization (percent) and power (watts), null where nothing was observed. The text
// is safe inside a <script> element, because every "<" is escaped.
std::string ChartJson(const AuditReport& report, std::size_t limit);

}  // namespace idleburn
