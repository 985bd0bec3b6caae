#include "cli/cmd_audit.h"

#include <filesystem>

#include "audit/audit_plan.h"
#include "audit/keep_run.h"
#include "audit/memory_audit.h"
#include "audit/open_input.h"
#include "audit/read_run.h"
#include "cli/commands.h"
#include "config/common_flags.h"
#include "history/users_history.h"
#include "os/digest.h"
#include "os/input_file.h"
#include "report/write_audit.h"
#include "terminal/progress.h"
#include "text/strings.h"

// `idleburn audit`. The order matters. Flags are checked first (PlanAudit), then files are found, then the report's own
// path is compared with them, and only then is anything read. So an audit of an hour does not end with a mistyped gate
// or an overwritten log.
//
// The whole analysis is Audit (audit/audit.h). This file only connects it with flags, history and printers.

namespace idleburn {

namespace {

// An input as the history keeps it: its full path, and a hash if it is a regular file. The hash shows later whether the
// file is still the same. Standard input and pipes cannot be read a second time, so they have none.
KeptInput KeptInputOf(const std::string& input) {
  if (input == "-") return {input, {}};
  std::error_code unknown;
  if (!std::filesystem::is_regular_file(input, unknown)) return {FullPath(input), {}};
  return {FullPath(input), Sha256OfFile(input).value_or("")};
}

// Keeps an audit in the history. Its times are those of the readings and not of the audit: `history list --since 7d`
// asks when GPUs were used. The run's recorded start wins over its first reading.
void Keep(const std::vector<std::string>& inputs, const Audited& audited, const AuditPlan& plan,
          std::map<std::string, std::string> tags, RunFigures figures, const Settings& settings) {
  const RunSummary& summary = audited.run->summary;
  HistoryRun row = NewRun("audit", summary.facts(), settings, plan.prices.book);
  row.id = RandomIdText();
  row.started = summary.window().start.value_or(audited.report.run.start);
  row.tags = std::move(tags);
  for (const std::string& input : inputs) row.inputs.push_back(KeptInputOf(input));
  // The facts of a recording say how its command ended. End takes it separately.
  const std::string exit = row.exit;
  RunKeeper keeper(HistoryFile(settings), std::move(row));
  keeper.End(summary.window().end.value_or(audited.report.run.end), exit, std::move(figures));
}

}  // namespace

Result<int> AuditFiles(const AuditRequest& request, const Settings& settings, const Environment& environment) {
  AuditPlan plan = TRY(PlanAudit(request.report, settings, environment.now));
  // The window needs the time zone, so it is read after the import settings.
  ImportOptions options = TRY(ImportOptionsFrom(settings));
  options.hosts = request.hosts;
  if (!request.window.empty()) options.window = TRY(ParseWindow(request.window, options.timezone));
  const InputFiles files = TRY(FindInputFiles(request.inputs, options));
  // Before anything is read: the report must not overwrite one of its inputs.
  TRY(SpareInputs(request.report.output, files.read));
  std::map<std::string, std::string> tags = TRY(ParseTags(request.tags));
  // The user's own verified changes say what a fix gives back. `history show --audit` and `demo` do without.
  if (request.use_history) plan.shares = OwnShares(settings, environment.now);
  Progress progress = Progress::OnStandardError(environment, request.quiet);
  const auto read = [&]() -> Result<std::shared_ptr<RunInputs>> {
    std::shared_ptr<RunInputs> run = TRY(Read(files.read, options, plan.thresholds, &progress));
    // Files of a folder that nobody could read become doubts of the report.
    for (const std::string& file : files.left) run->quality.CountNamed(QualityId::kFileNotRead, Printable(file));
    return run;
  };
  Audited audited = TRY(Audit(read, plan));
  audited.report.inputs = request.called.empty() ? files.read : std::vector{request.called};
  ReportEnd report = WriteAudit(audited, plan, environment);
  if (request.keep) Keep(files.read, audited, plan, std::move(tags), std::move(report.figures), settings);
  return report.Code();
}

Result<int> RunAudit(const std::vector<std::string>& arguments, const Environment& environment) {
  AuditRequest request;
  bool no_history = false;
  CommandFlags flags({"price.", "advice.", "energy.", "import.", "classify.idle_power", "classify.idle_after",
                      "classify.idle_grace", "output.", "history."});
  flags.Writes(kAuditFormats);
  Flag& inputs = flags.Add("input", "INPUT...",
                           "files of one run: nvidia-smi logs, Prometheus dumps, ..., or a folder of them (- is "
                           "standard input); NODE=FILE if FILE does not name its node");
  inputs.list = &request.inputs;
  inputs.required = true;
  std::vector<std::string> after;
  Flag& vs = flags.Add("--vs", "TRACE", "show what differs between two traces, per step, kernel, operator and module");
  vs.list = &after;
  vs.several = true;
  flags.Add("--window", "START..END", kWindowHelp).text = &request.window;
  flags.Add("--output", "FILE", "write the report to FILE").text = &request.report.output;
  flags.Add("--work", "LIST", "work done: samples=200000,tokens=...,steps=...,epochs=...").text = &request.report.work;
  flags.Add("--fail-on", "GATE", "exit 3 if waste>PERCENT, cost>AMOUNT or unobserved>PERCENT (repeatable)").list =
      &request.report.fail_on;
  flags.Add("--full", "", kFullHelp).on = &request.report.full;
  flags.Add("--explain", "", "also print rules, priors and rejected levers").on = &request.report.explain;
  flags.Add("--all-gpus", "", "also count the GPUs of a recording that were not visible to its command").on =
      &request.report.all_gpus;
  flags.Add("--keep", "", "keep the audit in the history").on = &request.keep;
  flags.Add("--tag", "KEY=VALUE", "with --keep: add a tag (repeatable)").list = &request.tags;
  flags.Add("--no-history", "", "estimate fixes from published results, not from your own verified results").on =
      &no_history;
  flags.Add("--quiet", "", "no progress on standard error").on = &request.quiet;
  flags.Add("--no-color", "", "plain text").on = &request.report.no_color;
  const auto settings =
      TRY(flags.Read("audit", "Audits anything that recorded GPUs: cost by phase, causes, fixes.", arguments));
  if (!settings) return 0;
  // A mark on an audit that is not kept would be lost, so that is an error.
  if (!request.keep) TRY(RefuseMarks("audit", request.tags, *settings, "without --keep"));
  request.use_history = !no_history;
  request.hosts = TRY(TakeHosts(request.inputs));
  if (!after.empty()) return DiffTracesOf(request, after, *settings, environment);
  const bool is_snapshot = TRY(IsMemorySnapshot(request.inputs));
  if (is_snapshot) return AuditMemoryOf(request, *settings, environment);
  return AuditFiles(request, *settings, environment);
}

}  // namespace idleburn
