#include <memory>
#include <utility>

#include "audit/audit.h"
#include "audit/open_input.h"
#include "audit/read_run.h"
#include "cli/cmd_audit.h"
#include "config/common_flags.h"
#include "os/input_file.h"
#include "report/trace_diff_output.h"
#include "terminal/output.h"
#include "terminal/progress.h"

namespace idleburn {
namespace {

// One side of the difference: its files and its audit.
struct DiffInput {
  std::vector<std::string> files;
  Audited audited;
};

Result<DiffInput> ReadDiffSide(const std::vector<std::string>& inputs, const AuditRequest& request,
                               const Settings& settings, const AuditPlan& plan, Progress& progress) {
  ImportOptions options = TRY(ImportOptionsFrom(settings));
  options.hosts = request.hosts;
  const InputFiles files = TRY(FindInputFiles(inputs, options));
  TRY(SpareInputs(request.report.output, files.read));
  Audited audited = TRY(Audit([&] { return Read(files.read, options, plan.thresholds, &progress); }, plan));
  const AuditReport& report = audited.report;
  if (!report.traced_only || !report.trace) {
    return Fail(files.read.front() +
                ": is no profiler's file; --vs shows the difference of two traces. For runs: idleburn compare");
  }
  if (report.trace->devices.empty()) {
    return Fail(files.read.front() + ": has no GPU events, so there is nothing to compare");
  }
  return DiffInput{files.read, std::move(audited)};
}

}  // namespace

Result<void> RefuseAuditFlags(const AuditRequest& request, const std::string& because) {
  const std::pair<bool, const char*> given[] = {{!request.report.fail_on.empty(), "--fail-on"},
                                                {request.keep, "--keep"},
                                                {!request.window.empty(), "--window"},
                                                {!request.report.work.empty(), "--work"}};
  for (const auto& [is, flag] : given) {
    if (is) return FailUsage(std::string("audit: ") + flag + " has no meaning " + because + "; leave it out");
  }
  return {};
}

Result<int> DiffTracesOf(const AuditRequest& request, const std::vector<std::string>& after, const Settings& settings,
                         const Environment& environment) {
  TRY(RefuseAuditFlags(request, "with --vs"));
  const AuditPlan plan = TRY(PlanAudit(request.report, settings, environment.now));
  const ReportFormat format =
      TRY(ChooseFormat(settings, "audit --vs", request.report.output, FormatsOf(kTraceDiffWriters)));
  Progress progress = Progress::OnStandardError(environment, request.quiet);
  const DiffInput a = TRY(ReadDiffSide(request.inputs, request, settings, plan, progress));
  const DiffInput b = TRY(ReadDiffSide(after, request, settings, plan, progress));
  const TraceDiffAnswer answer = {DiffTraces(*a.audited.report.trace, *b.audited.report.trace), a.files, b.files,
                                  a.audited.report.cost.rate, b.audited.report.cost.rate};
  const TextWish wish = {request.report.full, request.report.no_color};
  TRY(WriteOutput(request.report.output,
                  Written(kTraceDiffWriters, format, answer, PaperFor(environment, request.report.output, wish))));
  return 0;
}

}  // namespace idleburn
