#include "cli/cmd_audit.h"

#include <filesystem>

#include "cli/commands.h"
#include "cli/common_flags.h"
#include "cli/input_files.h"
#include "cli/keep_run.h"
#include "cli/open_input.h"
#include "cli/read_run.h"
#include "cli/spare_inputs.h"
#include "cli/users_history.h"
#include "cli/window_flag.h"
#include "os/digest.h"
#include "text/escape.h"

namespace idleburn {

namespace {

// With its hash, if it is a file that can be read again: standard input and pipes cannot.
KeptInput KeptInputOf(const std::string& input) {
  if (input == "-") return {input, {}};
  std::error_code unknown;
  if (!std::filesystem::is_regular_file(input, unknown)) return {FullPath(input), {}};
  return {FullPath(input), Sha256OfFile(input).value_or("")};
}

// An audit that is to be kept: when the run was, by its own readings.
void Keep(const std::vector<std::string>& inputs, const RunInputs& run, const Instant start, const Instant end,
          std::map<std::string, std::string> tags, RunFigures figures, const Settings& settings) {
  HistoryRun row = NewRun("audit", run.summary.facts(), settings);
  row.id = RandomIdText();
  row.started = run.summary.window().start.value_or(start);
  row.tags = std::move(tags);
  for (const std::string& input : inputs) row.inputs.push_back(KeptInputOf(input));
  const std::string exit = row.exit;
  RunKeeper keeper(HistoryFile(settings), std::move(row));
  keeper.End(run.summary.window().end.value_or(end), exit, std::move(figures));
}

}  // namespace

Result<int> Audit(const AuditRequest& request, const Settings& settings, const Environment& environment) {
  ReportPlan plan = TRY(PlanReport(request.report, settings));
  ImportOptions options = TRY(ImportOptionsFrom(settings));
  options.hosts = request.hosts;
  if (!request.window.empty()) {
    options.window = TRY(ParseWindow(request.window, options.timezone));
  }
  const InputFiles files = TRY(FindInputFiles(request.inputs, options));
  TRY(SpareInputs(request.report.output, files.read));
  std::map<std::string, std::string> tags = TRY(ParseTags(request.tags));
  if (request.use_history) plan.shares = OwnShares(settings, environment.now);
  std::unique_ptr<RunInputs> run =
      TRY(ReadRun(files.read, options, plan.thresholds, FactsOf, environment.terminal_err && !request.quiet));
  for (const std::string& file : files.left) run->quality.CountNamed(QualityId::kFileNotRead, Printable(file));
  const std::string why_no_gpu = LeaveOutHidden(plan, *run);
  if (!why_no_gpu.empty()) return Fail(files.read.front() + ": no GPU to audit: " + why_no_gpu);
  const Instant start = run->run.start;
  const Instant end = run->run.end;
  ReportEnd report = ReportRun(plan, *run, request.called.empty() ? files.read : std::vector{request.called}, {},
                               settings, environment);
  if (request.keep) Keep(files.read, *run, start, end, std::move(tags), std::move(report.figures), settings);
  return report.Code();
}

Result<int> RunAudit(const std::vector<std::string>& arguments, const Environment& environment) {
  AuditRequest request;
  bool no_history = false;
  CommandFlags flags({"price.", "advice.", "energy.", "import.", "classify.idle_power", "classify.idle_after",
                      "classify.idle_grace", "output.", "history."});
  flags.Writes(kAuditFormats);
  Flag& inputs =
      flags.Add("input", "INPUT...",
                "files of one run: nvidia-smi logs, Prometheus dumps, ..., or a folder of them (- is standard input); "
                "NODE=FILE where FILE does not say whose GPUs it is about");
  inputs.list = &request.inputs;
  inputs.required = true;
  flags.Add("--window", "START..END", kWindowHelp).text = &request.window;
  flags.Add("--output", "FILE", "write the report to FILE").text = &request.report.output;
  flags.Add("--work", "LIST", "work done: samples=200000,tokens=...,steps=...,epochs=...").text = &request.report.work;
  flags.Add("--fail-on", "GATE", "exit 3 if waste>PERCENT, cost>AMOUNT or unobserved>PERCENT (repeatable)").list =
      &request.report.fail_on;
  flags.Add("--explain", "", "also print rules, priors and the levers that were not advised").on =
      &request.report.explain;
  flags.Add("--all-gpus", "", "of a recording, count the GPUs too that its command could not see").on =
      &request.report.all_gpus;
  flags.Add("--keep", "", "keep the audit in the history").on = &request.keep;
  flags.Add("--tag", "KEY=VALUE", "with --keep: mark it there (repeatable)").list = &request.tags;
  flags.Add("--no-history", "", "expect of fixes what is published, not what your own verified changes gave").on =
      &no_history;
  flags.Add("--quiet", "", "no progress on standard error").on = &request.quiet;
  flags.Add("--no-color", "", "plain text").on = &request.report.no_color;
  const auto settings =
      TRY(flags.Read("audit", "Audits anything that recorded GPUs: cost by phase, causes, fixes.", arguments));
  if (!settings) return 0;
  if (!request.keep) TRY(RefuseMarks("audit", request.tags, *settings, "without --keep"));
  request.use_history = !no_history;
  request.hosts = TRY(TakeHosts(request.inputs));
  return Audit(request, *settings, environment);
}

}  // namespace idleburn
