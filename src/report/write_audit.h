#pragma once

#include <span>
#include <string>

#include "audit/audit.h"
#include "audit/audit_plan.h"
#include "audit/audit_report.h"
#include "audit/live_record.h"
#include "history/run.h"
#include "report/format_writers.h"
#include "terminal/environment.h"

namespace idleburn {
// How a report ended. Gates (--fail-on) are judged even if the report could not be written. A gate that cannot be
// judged counts as broken, because a script must not pass for lack of data.
struct ReportEnd {
  Result<void> written;
  bool gates_hold = true;  // broken gates are named on standard error
  RunFigures figures;      // for the history
  // The exit code of a command whose purpose is its report: 0, kExitGate, or the error that prevented the report.
  [[nodiscard]] Result<int> Code() const;
};

// Writes a finished audit in the format and to the place of the plan, then judges the gates and collects the figures
// for the history.
ReportEnd WriteAudit(const Audited& audited, const AuditPlan& plan, const Environment& environment);

// The figures that the history keeps of an audit (docs/history.md, "What is kept of a run"). Without a GPU only work
// and pace are kept.
RunFigures FiguresOf(const Audited& audited, const AuditPlan& plan);

// Audits a live run that has ended and writes its report. Then prints on standard error what the host did and what
// happened, unless that would mix with a report there. `why_no_gpu` says why no GPU was measured, if so.
ReportEnd ReportLive(const AuditPlan& plan, const LiveRecord& record, const std::string& why_no_gpu,
                     const Environment& environment);

// The writers of an audit, one per format. Each is a pure function of the report and escapes what it prints for its
// own format. kAuditWriters is the table of them.

// The document of docs/json.md, schema idleburn.audit/1.
std::string AuditJson(const AuditReport& report);
// For a terminal of `width` columns: verdict, why and next first, then the tables. Colour is used only if `color` is
// set, and never carries meaning alone.
std::string AuditText(const AuditReport& report, int width, bool color);
// The same for a page or a comment on a change. Prints no ribbons.
std::string AuditMarkdown(const AuditReport& report);
// For spreadsheets: one row per device and phase, and per run if a log has several; then one row per device and
// signal. Amounts keep all decimals. Cells cannot start a formula (CsvCell in text/strings.h).
std::string AuditCsv(const AuditReport& report);
// One self-contained file: it loads nothing from a network.
std::string AuditHtml(const AuditReport& report);

// The same on one screen: the verdict, a bar of the bill, why, what to do next, the GPUs that wasted most, and where
// the rest is. It takes its sentences and figures from the same view (report/audit_view.h), so the two cannot disagree.
std::string AuditScreen(const AuditReport& report, const Paper& paper);
// The text as a terminal shows it: one screen, or with --full everything.
std::string AuditOnPaper(const AuditReport& report, const Paper& paper);

inline constexpr auto kAuditWriters = std::to_array<FormatWriter<AuditReport>>({
    {ReportFormat::kText, AuditOnPaper},
    {ReportFormat::kJson, OnAnyPaper<AuditJson>},
    {ReportFormat::kHtml, OnAnyPaper<AuditHtml>},
    {ReportFormat::kCsv, OnAnyPaper<AuditCsv>},
    {ReportFormat::kMarkdown, OnAnyPaper<AuditMarkdown>},
});
static_assert(FormatsOf(kAuditWriters) == kAuditFormats);

// The data of the charts of the HTML report, for the devices at these positions in cost.devices that have a timeline:
// label, start and step in seconds, and per bucket the mean utilization (percent) and power (watts) and the highest
// memory used (GiB), null where nothing was observed. `memory` is left out where it was never read. `host` has one
// entry per scope that was read: busy CPUs, and disk and network in MB/s. The text is safe inside a <script> element,
// because every "<" is escaped.
std::string ChartJson(const AuditReport& report, std::span<const std::size_t> gpus);

}  // namespace idleburn
