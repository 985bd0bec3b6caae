#include "report/write_audit.h"

#include "report/audit_writers.h"
#include "report/run_figures.h"
#include "terminal/output.h"
#include "text/table.h"

namespace idleburn {
namespace {

Result<void> Write(const AuditReport& report, const AuditPlan& plan, const Environment& environment) {
  const ReportRequest& request = plan.request;
  const bool aside = request.to_stderr && request.output.empty();
  const bool terminal = request.output.empty() && (aside ? environment.terminal_err : environment.terminal_out);
  const bool color = terminal && !environment.no_color && !request.no_color;
  const auto text = [&]() -> std::string {
    switch (plan.format) {
      case ReportFormat::kText:
        if (terminal && !environment.utf8) return AsciiOnly(AuditText(report, environment.columns - 1, color));
        return AuditText(report, terminal ? environment.columns : 100, color);
      case ReportFormat::kJson:
        return AuditJson(report);
      case ReportFormat::kHtml:
        return AuditHtml(report);
      case ReportFormat::kCsv:
        return AuditCsv(report);
      case ReportFormat::kMarkdown:
        return AuditMarkdown(report);
      case ReportFormat::kParquet:
        break;
    }
    return {};
  };
  if (!aside) return WriteOutput(request.output, text());
  if (!request.quiet) PrintAside(text());
  return {};
}

}  // namespace

Result<int> ReportEnd::Code() const {
  TRY(written);
  return gates_hold ? 0 : kExitGate;
}

ReportEnd WriteAudit(const Audited& audited, const AuditPlan& plan, const Environment& environment) {
  const AuditReport& report = audited.report;
  ReportEnd end;
  end.written = Write(report, plan, environment);
  const std::vector<std::string> broken = report.run.devices.empty() ? UnjudgedGates(plan.gates, "no GPU was measured")
                                                                     : BrokenGates(plan.gates, report.cost);
  for (const std::string& gate : broken) Say("--fail-on " + gate);
  end.gates_hold = broken.empty();
  end.figures = FiguresOf(audited, plan);
  return end;
}

RunFigures FiguresOf(const Audited& audited, const AuditPlan& plan) {
  return FiguresOf(audited.report, WorkOf(plan, *audited.run), audited.run->summary.Pace());
}

}  // namespace idleburn
