#include "cli/cmd_run.h"

#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <exception>
#include <filesystem>
#include <functional>
#include <thread>

#include "audit/keep_run.h"
#include "audit/live_record.h"
#include "audit/live_watch.h"
#include "audit/machine_facts.h"
#include "audit/watch_flags.h"
#include "cli/commands.h"
#include "cli/step_profile.h"
#include "history/users_history.h"
#include "measure/system_facts.h"
#include "os/digest.h"
#include "os/held_signals.h"
#include "os/input_file.h"
#include "price/find_rate.h"
#include "report/write_audit.h"
#include "run/live_session.h"
#include "run/served_command.h"
#include "run/workload.h"
#include "telemetry/run_facts.h"
#include "terminal/output.h"
#include "text/command_line.h"

// `idleburn run` runs a command and measures it. One rule is above all others: the command runs, and its output, exit
// code, signals and terminal are unchanged, whatever fails here (docs/run-ends.md, "How a run ends").
//
// The code follows from it. All that can fail by a user's mistake is checked before the command starts (Understand).
// After the start nothing returns an error: trouble is said on standard error and the run goes on (MeasureRun). If
// measuring fails as a whole, the command is waited for without it (RunAlone).

namespace idleburn {

// The flags as they were written.
struct RunRequest {
  LiveFlags live;
  WatchFlags watch;
  std::string recording;
  bool no_recording = false;
  std::string profile_steps;
  // The command gets standard output directly. Its printed progress is then not read.
  bool plain = false;
};

// A run that is understood and ready to start. Mistakes in its words are found before the workload starts, so
// everything that can fail by them is here already.
struct ReadyRun {
  RunRequest request;
  std::vector<std::string> command;
  Settings settings;
  AuditPlan audit;
  LiveGpuOptions gpus;
  std::map<std::string, std::string> tags;
  std::optional<std::string> history;  // the file; absent: nothing is kept
  // The limits of --watch and --budget, with the prices by which a budget is counted.
  WatchPlan limits;
  std::optional<StepProfile> profile;  // of --profile-steps
};

namespace {

// The working directory; empty if it was removed.
std::string CurrentFolder() {
  std::error_code ignored;
  return std::filesystem::current_path(ignored).string();
}

// Pushes what is known before the start: the command without secrets, its folder, and ids of its experiment.
void TellFacts(LiveSession& session, const std::vector<std::string>& command) {
  session.Fact("command", ShownCommand(command));
  session.Fact("cwd", CurrentFolder());
  for (const RunFact& fact : ExperimentFacts(OwnVariable)) session.Fact(fact.key, fact.value);
}

// Starts the recording if that is possible. If it is not, the run goes on without one and says so. With --no-history a
// run leaves nothing behind, unless --recording names a file.
void BeginRecording(const RunRequest& request, const std::string& history, LiveRecord& record, Instant now) {
  // A recording is kept without being asked for, because a run cannot be measured a second time.
  const bool unasked = request.live.no_history && request.recording.empty();
  if (request.no_recording || unasked) return;
  const std::string path =
      request.recording.empty() ? UsualRecordingPath(RecordingFolder(history), now) : request.recording;
  if (path.empty()) return Say("no recording: there is no home folder; name a file with --recording");
  const Result<void> begun = record.RecordTo(path, now, "--recording", !request.recording.empty());
  if (!begun) Say(begun.error().message + "; the run goes on without a recording");
}

// Runs the workload with the session beside it, until `guard` says that it is over. The workload starts first, because
// measuring must not delay it. Everything slow (the driver, cloud metadata, git) is read on another thread while it
// runs.
//
// Returns how the workload ended, or why it did not start.
tl::expected<WorkloadEnd, StartFailure> RunMeasured(Workload& workload, WorkloadSpec spec, LiveSessionSpec measured,
                                                    LiveSession& session, RunKeeper& keeper, RunGuard& guard,
                                                    const std::function<std::vector<RunFact>()>& machine) {
  const std::string& run_id = keeper.run().id;
  // The command reports its progress through a file whose name is in its environment. Without it only printed steps
  // count.
  Result<MarkerFile> markers = MarkerFile::Create();
  spec.environment.emplace_back("IDLEBURN_RUN_ID", run_id);
  if (markers) {
    spec.environment.emplace_back("IDLEBURN_MARKERS", markers->path());
  } else {
    Say(markers.error().message);
  }
  const auto reaped = std::make_shared<ReapedUsage>();
  spec.reaped = reaped.get();
  // Read before the start, so that no time of the command is missed.
  const Instant started = session.Now();
  if (const auto start = workload.Start(spec); !start) return tl::unexpected<StartFailure>(start.error());
  keeper.run().started = started;
  keeper.Begin();
  session.Tell(RunWindow::StartFact(started));
  session.Tell(RunFact{std::string(kRunIdFact), run_id});
  session.Tell(NoteKind::kWorkloadStarted, ShownCommand(spec.command));
  measured.workload = HostWorkload{workload.pid(), getpid(), workload.helpers(), run_id, reaped};
  measured.environment = OwnVariable;
  measured.gpus.tell_slow = [&guard](const std::string& text) { guard.NoGpu(text); };
  if (markers) measured.markers = std::make_shared<MarkerFile>(std::move(*markers));
  // The driver may take seconds to list its GPUs; the workload and its signals do not wait for that.
  std::jthread opening([&session, &measured, &machine, &guard](const std::stop_token& stop) {
    const SignalStack signals;
    session.Start(measured, stop);
    session.Try([&] {
      if (!session.why_no_gpu().empty()) guard.NoGpu(session.why_no_gpu());
      for (const RunFact& fact : machine()) session.Tell(fact);
      for (const RunFact& fact : GitFacts(CurrentFolder())) session.Tell(fact);
    });
  });
  WorkloadEnd end = guard.Wait();
  session.Tell(RunWindow::EndFact(session.Now()));  // before what is read while the driver is waited for
  opening.request_stop();
  opening.join();
  session.Tell(NoteKind::kWorkloadEnded, Describe(end));
  session.Fact("exit", Describe(end));
  session.Stop();
  return end;
}

// Turns flags into everything that the run needs. Fails on whatever is wrong with them. Nothing is started here, and
// only a budget asks the machine for its price.
Result<std::shared_ptr<ReadyRun>> Understand(RunRequest request, std::vector<std::string> command, Settings settings,
                                             const Environment& environment) {
  TRY(CheckFolder(request.live.report.output));
  AuditPlan audit = TRY(PlanAudit(request.live.report, settings, environment.now));
  const LiveGpuOptions gpus = TRY(request.live.GpuOptions());
  std::map<std::string, std::string> tags = TRY(ParseTags(request.live.tags));
  if (request.live.no_history) TRY(RefuseMarks("run", request.live.tags, settings, "with --no-history"));
  WatchPlan limits = TRY(request.watch.Plan(audit.prices, request.live.detect_cloud));
  std::optional<StepProfile> profile = TRY(StepProfile::From(request.profile_steps));
  std::optional<std::string> history;
  if (!request.live.no_history) history = HistoryFile(settings);
  return std::make_shared<ReadyRun>(ReadyRun{std::move(request), std::move(command), std::move(settings),
                                             std::move(audit), gpus, std::move(tags), std::move(history),
                                             std::move(limits), std::move(profile)});
}

}  // namespace

namespace {

// The whole run. After the start, failures of idleburn are said and never returned. The exit code is the command's.
// Only a broken gate changes it, and only if the command ended with 0: a failure of the command is the more important
// news.
Result<int> MeasureRun(ReadyRun& run, Workload& workload, AlertCommand* on_alert, const Environment& environment,
                       const RunLaunch& launch) {
  const RunRequest& request = run.request;
  const bool ask_cloud = request.live.detect_cloud;
  LiveRecord record(run.audit.thresholds);
  LiveSession session(record.inputs().devices, record);
  // The order of these objects is that of their references: record, session, watch, guard.
  LiveWatch watch(run.limits, run.audit.thresholds, request.live.report.all_gpus);
  if (run.limits.limits.any()) record.WatchBy(&watch);
  RunGuard guard(run.limits, watch, workload, session, on_alert);
  BeginRecording(request, run.history.value_or(""), record, session.Now());
  record.TellMachine();
  TellFacts(session, run.command);
  RunKeeper keeper(run.history, NewRun("run", record.summary().facts(), run.settings, run.audit.prices.book));
  keeper.run().id = RandomIdText();
  keeper.run().tags = run.tags;
  keeper.run().recording = FullPath(record.path());
  // The forecast is kept before the run starts, so that it cannot profit from the result.
  keeper.run().forecast = launch.forecast;
  const auto lines = std::make_shared<ProgressWatcher>();
  WorkloadSpec spec;
  spec.command = run.command;
  spec.environment = launch.environment;
  if (run.profile) run.profile->AddTo(spec.environment);
  // The watcher looks for steps in what the command prints.
  spec.watcher = request.plain ? nullptr : lines.get();
  LiveSessionSpec measured;
  measured.gpus = run.gpus;
  if (!request.plain) measured.lines = lines;
  const auto machine = [&] { return run.limits.machine ? *run.limits.machine : MachineFacts(ask_cloud); };
  const auto end = RunMeasured(workload, std::move(spec), measured, session, keeper, guard, machine);
  if (!end) {
    // A command that did not start leaves no recording.
    record.Discard();
    Say(end.error().error.message);
    return end.error().exit_code;
  }
  if (const Result<void> recorded = record.Close(); !recorded) Say(recorded.error().message);
  if (!end->output_failure.empty()) Say(end->output_failure);
  if (end->exit_code != 0) Say("the command ended with " + Describe(*end));
  // A run that is not kept does not read the history either.
  if (keeper.Kept()) run.audit.shares = OwnShares(run.settings, session.Now(), kPatienceAtTheEnd);
  if (run.profile) run.profile->ReadInto(record.inputs());
  const ReportEnd report = ReportLive(run.audit, record, session.why_no_gpu(), environment);
  if (!report.written) Say(report.written.error().message);
  keeper.End(record.summary().window().end.value_or(session.Now()), Describe(*end), report.figures);
  launch.ended(keeper.run());
  return end->exit_code != 0 || report.gates_hold ? end->exit_code : kExitGate;
}

// Runs the command without any measuring, for when measuring failed as a whole. If it had started already, this only
// waits for it.
int RunAlone(const ReadyRun& run, Workload& workload, const RunLaunch& launch) {
  if (workload.started()) return workload.WaitAgain().exit_code;
  WorkloadSpec spec;
  spec.command = run.command;
  spec.environment = launch.environment;
  const auto started = workload.Start(spec);
  if (!started) Say(started.error().error.message);
  return started ? workload.Wait().exit_code : started.error().exit_code;
}

}  // namespace

// Whatever fails in idleburn, the command runs, and its exit code is returned, even if idleburn crashes. Threads catch
// their own exceptions (LiveSession::Try, Sampler). An exception that arrives here, usually for lack of memory or
// threads, ends only the measuring.
Result<int> StartRun(ReadyRun& run, const Environment& environment, const RunLaunch& launch) {
  // Before any thread exists, because the process that passes alerts on is forked from this one.
  Result<std::unique_ptr<AlertCommand>> on_alert = run.request.watch.StartAlertCommand();
  if (!on_alert) Say(on_alert.error().message + "; the run goes on, and alerts appear only here");
  const SignalStack signals;
  const std::unique_ptr<Workload> workload = Workload::Prepare();
  SurviveCrashes(workload->served());
  try {
    return MeasureRun(run, *workload, on_alert ? on_alert->get() : nullptr, environment, launch);
  } catch (const std::exception& failure) {
    std::fprintf(stderr, "idleburn: measuring failed: %s; the command goes on without it, and there is no report\n",
                 failure.what());
  }
  return RunAlone(run, *workload, launch);
}

Result<std::shared_ptr<ReadyRun>> ReadRunWords(const std::vector<std::string>& arguments,
                                               const Environment& environment) {
  RunRequest request;
  // Standard output belongs to the command, so the report goes to standard error.
  request.live.report.to_stderr = true;
  request.live.report.live = true;
  CommandFlags flags(LiveFlags::SettingKeys());
  flags.Add("--output", "FILE", "write the report to FILE instead of standard error").text =
      &request.live.report.output;
  flags.Add("--recording", "FILE", "keep the recording in FILE (default: in the user's data folder)").text =
      &request.recording;
  flags.Add("--no-recording", "", "keep no recording").on = &request.no_recording;
  flags.Add("--all-gpus", "", "also count GPUs that are not visible to the command (CUDA_VISIBLE_DEVICES and similar)")
      .on = &request.live.report.all_gpus;
  flags
      .Add("--profile-steps", "N",
           "also profile N steady steps of a program that reports steps to the Python package and uses PyTorch")
      .text = &request.profile_steps;
  flags.Add("--plain", "", "do not read progress from the command's output").on = &request.plain;
  flags.Add("--quiet", "", "print only alerts and errors; the report goes to --output or nowhere").on =
      &request.live.report.quiet;
  request.watch.AddTo(flags);
  request.watch.AddEnforceTo(flags);
  request.live.AddTo(flags);
  std::vector<std::string> command;
  auto settings = TRY(flags.ReadBeforeDashes(
      "run", "Runs a command, measures GPUs and host, and says what it cost: idleburn run -- CMD...", arguments,
      "run --price 2.50 -- python train.py", &command));
  if (!settings) return std::shared_ptr<ReadyRun>();
  return Understand(std::move(request), std::move(command), *std::move(settings), environment);
}

Result<int> RunRun(const std::vector<std::string>& arguments, const Environment& environment) {
  const std::shared_ptr<ReadyRun> run = TRY(ReadRunWords(arguments, environment));
  return run == nullptr ? 0 : StartRun(*run, environment, {});
}

}  // namespace idleburn
