#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "audit/audit_plan.h"
#include "cli/commands.h"
#include "compare/compared_input.h"
#include "compare/compared_sides.h"
#include "compare/comparison.h"
#include "compare/ledger_entry.h"
#include "config/common_flags.h"
#include "config/output_format.h"
#include "os/input_file.h"
#include "report/comparison_writers.h"
#include "terminal/output.h"
#include "terminal/progress.h"

// `idleburn compare` judges whether a change saved anything. It runs in this order: read the terms (a claim, or flags),
// read both sides, find the prices, judge, add money, keep the verdict in the ledger, print. Prices come before the
// judgement only because failed runs are joined in it, and their time must be priced at their own GPUs.
//
// The judge is in verify/ and sees numbers alone. Nothing here may change a verdict after Judge returned it: a report
// that improves its verdict would be worthless.

namespace idleburn {
namespace {

// The flags as they were written.
struct CompareRequest {
  ComparisonRequest asked;
  std::vector<std::string> fail_on;
  std::string output;
  bool quiet = false;
  bool full = false;
  bool no_color = false;
};

constexpr auto kComparisonFormats = FormatsOf(kComparisonWriters);
constexpr auto kReversionFormats = FormatsOf(kReversionWriters);

// A condition of --fail-on, and which verdicts break it.
struct VerdictGate {
  std::string_view name;
  bool (*broken)(Verdict verdict);
};
// The names are part of the interface: scripts in CI hold them.
constexpr auto kGates = std::to_array<VerdictGate>({
    {"regression", [](Verdict verdict) { return verdict == Verdict::kRegression; }},
    {"not-verified", [](Verdict verdict) { return verdict != Verdict::kVerified; }},
    {"invalid", [](Verdict verdict) { return verdict == Verdict::kInvalid; }},
});

// Reads the gates. They are read first, because a comparison of large recordings takes minutes.
Result<std::vector<const VerdictGate*>> VerdictGates(const std::vector<std::string>& names) {
  std::vector<const VerdictGate*> gates;
  for (const std::string& name : names) {
    const auto* found =
        std::find_if(kGates.begin(), kGates.end(), [&](const VerdictGate& gate) { return gate.name == name; });
    if (found == kGates.end()) {
      return FailUsage("compare: --fail-on '" + name.substr(0, 20) +
                       "' is not one of regression, not-verified, invalid");
    }
    gates.push_back(found);
  }
  return gates;
}

// 0, or kExitGate if the verdict breaks a gate. Each broken gate is named on standard error.
int CodeOf(const std::vector<const VerdictGate*>& gates, Verdict verdict) {
  int code = 0;
  for (const VerdictGate* gate : gates) {
    if (!gate->broken(verdict)) continue;
    Say(fmt::format("--fail-on {}: the verdict is {}", gate->name, VerdictName(verdict)));
    code = kExitGate;
  }
  return code;
}

// The size of all runs, in bytes. 0 if one of them is no plain file.
std::uint64_t SizeOfRuns(const SideRequest& sides, const InputReading& reading) {
  std::vector<std::string> paths;
  for (const auto* names : {&sides.before, &sides.after, &sides.untouched_before, &sides.untouched_after}) {
    for (const std::string& name : *names) paths.push_back(reading.path_of(name).value_or(name));
  }
  return SizeOfFiles(paths);
}

// The whole command. Gates, format and claim are checked before the first run is read, because reading may take
// minutes.
Result<int> Compare(const CompareRequest& request, const Settings& settings, const Environment& environment) {
  const std::vector<const VerdictGate*> gates = TRY(VerdictGates(request.fail_on));
  // --jobs without runs is judged by itself; beside runs it is taken off their comparison.
  const bool jobs_alone = !request.asked.jobs.empty() && request.asked.sides.before.empty();
  const auto writes = jobs_alone ? std::span<const ReportFormat>(kReversionFormats) : std::span(kComparisonFormats);
  const ReportFormat format = TRY(ChooseFormat(settings, "compare", request.output, writes));
  const Paper paper = PaperFor(environment, request.output, {request.full, request.no_color});
  if (jobs_alone) {
    const ReversionReport jobs = TRY(JudgeJobsAlone(request.asked, settings));
    TRY(WriteOutput(request.output, Written(kReversionWriters, format, jobs, paper)));
    return CodeOf(gates, jobs.reading.verdict);
  }
  if (request.asked.sides.before.empty()) {
    return FailUsage("compare: before is missing; see idleburn compare --help");
  }
  const ComparisonTerms terms = TRY(CompareTerms(request.asked));
  for (const auto* names : {&request.asked.sides.before, &request.asked.sides.after,
                            &request.asked.sides.untouched_before, &request.asked.sides.untouched_after}) {
    TRY(SpareInputs(request.output, *names));
  }
  // The report must overwrite neither a run nor the claim.
  TRY(SpareInputs(request.output, {request.asked.claim}));
  InputReading reading = TRY(ReadingFrom(settings, request.asked.factors, request.asked.work));
  reading.path_of = [&](const std::string& name) { return FileOrKeptRun(name, settings, environment.now); };
  Progress progress = Progress::OnStandardError(environment, request.quiet);
  reading.progress = &progress;
  progress.Begin("reading", ProgressUnit::kBytes, SizeOfRuns(request.asked.sides, reading));
  ComparedSides sides = TRY(ReadSides(request.asked.sides, reading, terms.claim.design == ClaimDesign::kSwitchback));
  progress.Begin("judging", ProgressUnit::kDraws);
  const ComparisonReport report =
      TRY(JudgeSides(request.asked, terms, std::move(sides), settings, environment.now, progress.Watch()));
  progress.End();
  // The ledger is about claims; a comparison without one is only printed.
  if (report.claimed && !request.asked.no_history) {
    KeepInLedger(ComparisonEntry(report, environment.now), settings, environment.now);
  }
  TRY(WriteOutput(request.output, Written(kComparisonWriters, format, report, paper)));
  return CodeOf(gates, report.verdict.verdict);
}

// Adds the flags, in the order of the help: what is compared, how it is judged, what is known besides, what is printed.
void AddCompareFlags(CompareRequest& request, CommandFlags& flags) {
  const auto runs = [&](const char* name, const char* help, std::vector<std::string>& into) {
    Flag& flag = flags.Add(name, "RUN...", help);
    flag.list = &into;
    flag.several = true;
  };
  flags.Add("before", "BEFORE...", "runs from before the change: recordings, captures, logs, ids of the history").list =
      &request.asked.sides.before;
  runs("--vs", "runs from after the change", request.asked.sides.after);
  flags.Add("--claim", "FILE", "judge by this claim (idleburn claim)").text = &request.asked.claim;
  request.asked.judged.AddTo(flags);
  flags.Add("--arms", "BEFORE,AFTER", "the two settings in the arm column of a switchback").text =
      &request.asked.sides.arms;
  runs("--untouched-before", "unchanged jobs on the dates of the runs before", request.asked.sides.untouched_before);
  runs("--untouched-after", "the same unchanged jobs on the dates of the runs after",
       request.asked.sides.untouched_after);
  flags.Add("--chosen-for-being-bad", "", "you picked the runs by the value under judgement").on =
      &request.asked.chosen_for_being_bad;
  flags
      .Add("--jobs", "FILE",
           "CSV of job,before,after,selected to estimate regression to the mean; judged alone, or subtracted from the "
           "runs")
      .text = &request.asked.jobs;
  flags.Add("--factor", "KEY=VALUE", "a fact common to all runs that they do not record (repeatable)").list =
      &request.asked.factors;
  flags.Add("--work", "[RUN:]LIST", "work done, if a run does not report it: samples=200000,...").list =
      &request.asked.work;
  flags.Add("--nra", "ENTRY", "another factor that changed: FACTOR=before:after:gpu_seconds:basis").list =
      &request.asked.adjustments;
  flags.Add("--exclude", "RUN=REASON", "leave a run out; the report lists it").list = &request.asked.sides.exclude;
  flags.Add("--kept", "", "count the work of failed runs (it was kept)").on = &request.asked.sides.kept;
  flags.Add("--tier", "ENTRY", "bought capacity: NAME=GPU_HOURS:PRICE[:cancellable] (repeatable)").list =
      &request.asked.tiers;
  flags.Add("--projection", "HOURS", "add a projection: the same work and mix for this long").text =
      &request.asked.projection;
  flags.Add("--fail-on", "GATE", "exit 3 if regression, not-verified or invalid (repeatable)").list = &request.fail_on;
  flags.Add("--output", "FILE", "write the report to FILE").text = &request.output;
  flags.Add("--no-history", "", "do not write to the ledger").on = &request.asked.no_history;
  flags.Add("--quiet", "", "no progress on standard error").on = &request.quiet;
  flags.Add("--full", "", kFullHelp).on = &request.full;
  flags.Add("--no-color", "", "plain text").on = &request.no_color;
}

}  // namespace

Result<int> RunCompare(const std::vector<std::string>& arguments, const Environment& environment) {
  CompareRequest request;
  CommandFlags flags({"price.", "import.", "output.", "history.file"});
  AddCompareFlags(request, flags);
  const auto settings =
      TRY(flags.Read("compare", "Verifies a saving: idleburn compare BEFORE... --vs AFTER...", arguments));
  if (!settings) return 0;
  return Compare(request, *settings, environment);
}

}  // namespace idleburn
