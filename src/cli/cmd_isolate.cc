#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <array>

#include "audit/keep_run.h"
#include "audit/watch_flags.h"
#include "cli/commands.h"
#include "config/common_flags.h"
#include "config/flag_values.h"
#include "measure/proc_files.h"
#include "os/kept_file.h"
#include "report/isolate_output.h"
#include "terminal/output.h"
#include "terminal/progress.h"
#include "text/command_line.h"
#include "text/strings.h"
#include "trial/trial.h"

// `idleburn isolate`: runs a command several times and changes one thing each time, to find what bounds it. The series
// (trial/trial.h) gets functions instead of processes, as the drill does. This file connects it with the machine.
//
// Every run costs GPU time, so the command says at the start how many runs there may be.

namespace idleburn {
namespace {

constexpr auto kIsolateFormats = FormatsOf(kIsolateWriters);

// A bound against typing errors; a larger --rounds is cut to it.
constexpr std::int64_t kMostRounds = 1000;
// The usual bounds of one run: 5 steps skipped, no limit of steps, 60 s measured, 300 s without progress, 30 s from
// SIGTERM to SIGKILL.
constexpr TrialBounds kUsual = {5, std::nullopt, Nanos(60 * kNanosPerSecond), Nanos(300 * kNanosPerSecond),
                                Nanos(30 * kNanosPerSecond)};

// The flags as they were written.
struct IsolateRequest {
  TrialFlags bounds{kUsual};
  std::string rounds;
  std::vector<std::string> knobs;
  std::string data;
  std::string output;
  bool show_output = false;
  bool full = false;
  bool quiet = false;
};

// The knobs of --knob, or all, in the order of the table, which is the order in which they are tried. The order of the
// flags does not count. An unknown name is an error.
Result<std::vector<const Knob*>> ChosenKnobs(const std::vector<std::string>& names) {
  std::vector<const Knob*> chosen;
  for (const Knob& knob : Knobs()) {
    if (names.empty() || std::find(names.begin(), names.end(), knob.id) != names.end()) chosen.push_back(&knob);
  }
  for (const std::string& name : names) {
    if (FindKnob(name) != nullptr) continue;
    return FailUsage(
        fmt::format("isolate: --knob: '{}' is not one of {}", name.substr(0, 40), ListText(Knobs(), ", ", &Knob::id)));
  }
  return chosen;
}

// The checked flags. Fails before the first run.
Result<SeriesSpec> SpecOf(const IsolateRequest& request) {
  SeriesSpec spec;
  const std::int64_t rounds = TRY(FlagCount("isolate", "--rounds", request.rounds, 1, 3));
  spec.rounds = static_cast<int>(std::min(rounds, kMostRounds));
  spec.bounds = TRY(request.bounds.Bounds("isolate"));
  spec.knobs = TRY(ChosenKnobs(request.knobs));
  return spec;
}

// What this machine offers to the knobs: CPUs, cgroups, free memory, and processes of idleburn. A knob that limits the
// command must not limit those, or it would measure its own brake.
KnobContext ContextOf(const Workload& workload, const std::string& data) {
  KnobContext context;
  context.cpus = AllowedCpus("/sys");
  context.quota_cpus = CgroupFiles("", getpid(), nullptr).Quota();
  context.cgroups = FindCgroups(FileText("/proc/self/mountinfo"), FileText("/proc/self/cgroup"));
  context.ours = workload.helpers();
  context.ours.push_back(getpid());
  context.data = data;
  context.memory_available = ValueOfKey(FileText("/proc/meminfo"), "MemAvailable:").value_or(0) * 1024;
  return context;
}

// Connects the series with this machine and runs it. Ctrl-C ends the whole series, not only the present run.
Result<SeriesResult> MeasureSeries(const IsolateRequest& request, const SeriesSpec& spec,
                                   std::vector<std::string> command, Progress& progress) {
  const std::unique_ptr<Workload> workload = Workload::Prepare();
  const CommandOutput output(request.show_output);
  const TrialSpec trial{std::move(command), spec.bounds, output.fd()};
  SeriesWorld world;
  world.context = ContextOf(*workload, request.data);
  world.run = [&](const KnobChange& change) {
    progress.Add(0);
    auto ran = RunTrial(*workload, trial, change);
    progress.Add(1);
    return ran;
  };
  world.interrupted = [&] { return workload->EndedBefore(); };
  world.tell = [&](const std::string& line) {
    if (request.quiet) return;
    progress.Hide();
    Say(line);
  };
  Result<SeriesResult> series = RunSeries(spec, std::move(world));
  progress.End();
  return series;
}

Result<int> Isolate(const IsolateRequest& request, const std::vector<std::string>& command, ReportFormat format,
                    const Environment& environment) {
  SeriesSpec spec = TRY(SpecOf(request));
  const auto rounds = static_cast<std::size_t>(spec.rounds);
  // One first run, runs that show the noise, and two runs per pair and knob. Pairs that are repeated because the
  // machine stood still are not counted here.
  const std::size_t most = 1 + (rounds > 1 ? rounds : 0) + 2 * rounds * spec.knobs.size();
  if (!request.quiet) {
    Say(fmt::format("runs the command at most {} times and ends each run with SIGTERM; Ctrl-C ends all", most));
  }
  // What the command prints would be torn by the line.
  Progress progress = Progress::OnStandardError(environment, request.quiet || request.show_output);
  progress.Begin("running the command", ProgressUnit::kRuns, most);
  Result<SeriesResult> result = MeasureSeries(request, spec, command, progress);
  if (!result) return tl::unexpected<Error>(Error{"isolate: " + result.error().message});
  IsolateReport report;
  report.command = ShownCommand(command);
  report.ids = OwnIds();
  report.spec = std::move(spec);
  report.result = std::move(*result);
  TRY(WriteOutput(request.output,
                  Written(kIsolateWriters, format, report, PaperFor(environment, request.output, {request.full}))));
  if (report.result.interrupted) return 128 + *report.result.interrupted;
  // A series in which no knob could be tried is no answer, so a script must see a failure.
  const bool any = std::any_of(report.result.knobs.begin(), report.result.knobs.end(),
                               [](const KnobResult& knob) { return knob.status == KnobStatus::kRan; });
  if (!any) return Fail("isolate: nothing could be measured; the report gives the reason for each knob");
  return 0;
}

}  // namespace

Result<int> RunIsolate(const std::vector<std::string>& arguments, const Environment& environment) {
  IsolateRequest request;
  CommandFlags flags({"output."});
  flags.Writes(kIsolateFormats);
  request.bounds.AddTo(flags, "run");
  flags.Add("--rounds", "N", "pairs of runs per knob, unchanged and changed (default 3)").text = &request.rounds;
  flags.Add("--knob", "ID", "test only this knob (repeatable)").list = &request.knobs;
  flags.Add("--data", "PATH", "the folder or file the command reads, for the knobs of storage").text = &request.data;
  flags.Add("--show-output", "", "show what the command prints, on standard error").on = &request.show_output;
  flags.Add("--full", "", kFullHelp).on = &request.full;
  flags.Add("--quiet", "", "print nothing while it runs").on = &request.quiet;
  flags.Add("--output", "FILE", "write the report to FILE instead of standard output").text = &request.output;
  std::vector<std::string> command;
  const auto settings = TRY(flags.ReadBeforeDashes(
      "isolate",
      "Runs a command repeatedly, changes one thing at a time, and says what bounds it: idleburn isolate -- CMD...",
      arguments, "isolate -- python train.py", &command));
  if (!settings) return 0;
  const ReportFormat format = TRY(ChooseFormat(*settings, "isolate", request.output, kIsolateFormats));
  return Isolate(request, command, format, environment);
}

}  // namespace idleburn
