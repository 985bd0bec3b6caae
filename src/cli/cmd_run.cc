#include "cli/cmd_run.h"

#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <functional>
#include <thread>

#include "cli/commands.h"
#include "cli/find_rate.h"
#include "cli/keep_run.h"
#include "cli/live_flags.h"
#include "cli/live_record.h"
#include "cli/run_guard.h"
#include "cli/say.h"
#include "cli/users_history.h"
#include "measure/experiment.h"
#include "measure/git_facts.h"
#include "os/random_id.h"
#include "run/live_session.h"
#include "run/workload.h"
#include "text/command_line.h"

namespace idleburn {
namespace {

struct RunRequest {
  LiveFlags live;
  WatchFlags watch;
  std::string recording;
  bool no_recording = false;
  bool plain = false;
};

std::string CurrentFolder() {
  std::error_code ignored;
  return std::filesystem::current_path(ignored).string();
}

void TellFacts(LiveSession& session, const std::vector<std::string>& command) {
  session.Fact("command", ShownCommand(command));
  session.Fact("cwd", CurrentFolder());
  for (const RunFact& fact : ExperimentFacts(OwnVariable)) session.Fact(fact.key, fact.value);
}

// A recording is kept where it can be; that it cannot is no reason not to run.
void BeginRecording(const RunRequest& request, const std::string& history, LiveRecord& record, Instant now) {
  if (request.no_recording) return;
  const std::string path =
      request.recording.empty() ? UsualRecordingPath(RecordingFolder(history), now) : request.recording;
  if (path.empty()) return Say("no recording is kept: there is no home folder; name a file with --recording");
  const Result<void> begun = record.RecordTo(path, now);
  if (!begun) Say(begun.error().message + "; the run goes on, and no recording is kept");
}

// Runs the workload with the session beside it, until `guard` says that it is over.
tl::expected<WorkloadEnd, StartFailure> RunMeasured(Workload& workload, WorkloadSpec spec, LiveSessionSpec measured,
                                                    LiveSession& session, RunKeeper& keeper, RunGuard& guard,
                                                    const std::function<std::vector<RunFact>()>& machine) {
  const std::string& run_id = keeper.run().id;
  Result<MarkerFile> markers = MarkerFile::Create();
  spec.environment.emplace_back("IDLEBURN_RUN_ID", run_id);
  if (markers) {
    spec.environment.emplace_back("IDLEBURN_MARKERS", markers->path());
  } else {
    Say(markers.error().message);
  }
  const auto reaped = std::make_shared<ReapedUsage>();
  spec.reaped = reaped.get();
  const Instant started = session.Now();
  if (const auto start = workload.Start(spec); !start) return tl::unexpected<StartFailure>(start.error());
  keeper.run().started = started;
  keeper.Begin();
  session.Tell(RunWindow::StartFact(started));
  session.Tell(NoteKind::kWorkloadStarted, ShownCommand(spec.command));
  measured.workload = HostWorkload{workload.pid(), getpid(), workload.helpers(), run_id, reaped};
  measured.environment = OwnVariable;
  if (markers) measured.markers = std::make_shared<MarkerFile>(std::move(*markers));
  // The driver may take seconds to list its GPUs; the workload and its signals do not wait for that.
  std::jthread opening([&session, &measured, &machine, &guard](const std::stop_token& stop) {
    session.Start(measured, stop);
    if (!session.why_no_gpu().empty()) guard.NoGpu(session.why_no_gpu());
    for (const RunFact& fact : machine()) session.Tell(fact);
    for (const RunFact& fact : GitFacts(CurrentFolder())) session.Tell(fact);
  });
  WorkloadEnd end = guard.Wait();
  const Instant ended = session.Now();
  opening.request_stop();
  opening.join();
  session.Tell(RunWindow::EndFact(ended));
  session.Tell(NoteKind::kWorkloadEnded, Describe(end));
  session.Fact("exit", Describe(end));
  session.Stop();
  return end;
}

Result<int> Run(const RunRequest& request, std::vector<std::string> command, const Settings& settings,
                const Environment& environment, const RunLaunch& launch) {
  Result<ReportPlan> plan = PlanReport(request.live.report, settings);
  if (!plan) return tl::unexpected<Error>(plan.error());
  const Result<LiveGpuOptions> gpus = request.live.GpuOptions();
  if (!gpus) return tl::unexpected<Error>(gpus.error());
  Result<std::map<std::string, std::string>> tags = ParseTags(request.live.tags);
  if (!tags) return tl::unexpected<Error>(tags.error());
  std::optional<std::string> history;
  if (!request.live.no_history) history = HistoryFile(settings);
  const bool ask_cloud = request.live.detect_cloud;
  const Result<WatchPlan> limits = request.watch.Plan(settings, ask_cloud, environment.now);
  if (!limits) return tl::unexpected<Error>(limits.error());

  const Result<std::unique_ptr<AlertCommand>> on_alert = request.watch.StartAlertCommand();
  if (!on_alert) return tl::unexpected<Error>(on_alert.error());
  const std::unique_ptr<Workload> workload = Workload::Prepare();
  LiveRecord record(plan->thresholds);
  LiveSession session(record.inputs().devices, record);
  LiveWatch watch(*limits, plan->thresholds, request.live.report.all_gpus);
  if (limits->limits.any()) record.WatchBy(&watch);
  RunGuard guard(*limits, watch, *workload, session, on_alert->get());
  BeginRecording(request, history.value_or(""), record, session.Now());
  record.TellMachine();
  TellFacts(session, command);
  RunKeeper keeper(history, NewRun("run", record.summary().facts(), settings));
  keeper.run().id = RandomIdText();
  keeper.run().tags = std::move(*tags);
  keeper.run().recording = FullPath(record.path());
  keeper.run().forecast = launch.forecast;
  const auto lines = std::make_shared<ProgressWatcher>();
  WorkloadSpec spec;
  spec.command = std::move(command);
  spec.environment = launch.environment;
  spec.watcher = request.plain ? nullptr : lines.get();
  LiveSessionSpec measured;
  measured.gpus = *gpus;
  if (!request.plain) measured.lines = lines;
  const auto machine = [&] { return limits->machine ? *limits->machine : MachineFacts(ask_cloud); };
  const auto end = RunMeasured(*workload, std::move(spec), measured, session, keeper, guard, machine);
  if (!end) {
    record.Discard();
    Say(end.error().error.message);
    return end.error().exit_code;
  }
  record.Close();
  if (!end->output_failure.empty()) Say(end->output_failure);
  if (end->exit_code != 0) Say("the command ended with " + Describe(*end));
  if (keeper.Kept()) plan->shares = OwnShares(settings, session.Now());
  const ReportEnd report = ReportLive(*plan, record, session.why_no_gpu(), settings, environment);
  if (!report.written) Say(report.written.error().message);
  keeper.End(record.summary().window().end.value_or(session.Now()), Describe(*end), report.figures);
  launch.ended(keeper.run());
  return end->exit_code != 0 || report.gates_hold ? end->exit_code : kExitGate;
}

}  // namespace

Result<int> RunRun(const std::vector<std::string>& arguments, const Environment& environment) {
  return LaunchRun(arguments, environment, {});
}

Result<int> LaunchRun(const std::vector<std::string>& arguments, const Environment& environment,
                      const RunLaunch& launch) {
  RunRequest request;
  request.live.report.to_stderr = true;
  request.live.report.live = true;
  CommandFlags flags(LiveFlags::SettingKeys());
  flags.Add("--output", "FILE", "write the report to FILE instead of standard error").text =
      &request.live.report.output;
  flags.Add("--recording", "FILE", "keep the recording in FILE (default: in the user's folder for data)").text =
      &request.recording;
  flags.Add("--no-recording", "", "keep no recording").on = &request.no_recording;
  flags.Add("--all-gpus", "", "count the GPUs too that the command cannot see (CUDA_VISIBLE_DEVICES and the like)").on =
      &request.live.report.all_gpus;
  flags.Add("--plain", "", "give the command our output as it is; progress it prints is not read").on = &request.plain;
  request.watch.AddTo(flags);
  request.watch.AddEnforceTo(flags);
  request.live.AddTo(flags);
  std::vector<std::string> command;
  const auto settings = flags.ReadBeforeDashes(
      "run", "Runs a command, measures GPU and host meanwhile, and says what it cost: idleburn run -- CMD...",
      arguments, "run --price 2.50 -- python train.py", &command);
  if (!settings) return tl::unexpected<Error>(settings.error());
  if (!*settings) return 0;
  return Run(request, command, **settings, environment, launch);
}

}  // namespace idleburn
