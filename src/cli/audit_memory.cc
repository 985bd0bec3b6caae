#include "audit/memory_audit.h"
#include "cli/cmd_audit.h"
#include "os/input_file.h"
#include "report/memory_output.h"
#include "terminal/output.h"

namespace idleburn {

Result<int> AuditMemoryOf(const AuditRequest& request, const Settings& settings, const Environment& environment) {
  TRY(RefuseAuditFlags(request, "for a memory snapshot"));
  const std::string& output = request.report.output;
  const ReportFormat format = TRY(ChooseFormat(settings, "audit", output, FormatsOf(kMemoryWriters)));
  TRY(SpareInputs(output, request.inputs));
  const MemoryAudit audit = TRY(AuditMemory(request.inputs.front()));
  const TextWish wish = {request.report.full, request.report.no_color};
  TRY(WriteOutput(output, Written(kMemoryWriters, format, audit, PaperFor(environment, output, wish))));
  return 0;
}

}  // namespace idleburn
