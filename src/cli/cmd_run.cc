#include "cli/cmd_run.h"

#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <thread>

#include "cli/live_flags.h"
#include "cli/live_record.h"
#include "cli/say.h"
#include "measure/experiment.h"
#include "os/random_id.h"
#include "run/live_session.h"
#include "run/workload.h"

namespace idleburn {
namespace {

struct RunRequest {
  LiveFlags live;
  std::string recording;
  bool no_recording = false;
  bool plain = false;
};

std::string NewRunId() {
  std::string text;
  for (const char c : RandomId()) {
    constexpr std::string_view kHex = "0123456789abcdef";
    const auto byte = static_cast<unsigned char>(c);
    text += {kHex[byte >> 4], kHex[byte & 15]};
  }
  return text;
}

// A command as a shell would be given it, as far as a reader needs it.
std::string Joined(const std::vector<std::string>& command) {
  std::string text;
  for (const std::string& word : command) {
    const bool plain = !word.empty() && word.find_first_of(" \t\n\"'\\$`") == std::string::npos;
    text += (text.empty() ? "" : " ") + (plain ? word : "'" + word + "'");
  }
  return text;
}

void TellFacts(LiveSession& session, const std::vector<std::string>& command) {
  session.Fact("command", Joined(command));
  std::error_code ignored;
  session.Fact("cwd", std::filesystem::current_path(ignored).string());
  const VariableLookup lookup = [](std::string_view name) -> std::optional<std::string> {
    const char* value = std::getenv(std::string(name).c_str());
    return value == nullptr ? std::nullopt : std::optional<std::string>(value);
  };
  for (const RunFact& fact : ExperimentFacts(lookup)) session.Fact(fact.key, fact.value);
}

// A recording is kept where it can be; that it cannot is no reason not to run.
void BeginRecording(const RunRequest& request, LiveRecord& record, Instant now) {
  if (request.no_recording) return;
  const std::string path = request.recording.empty() ? UsualRecordingPath(now) : request.recording;
  if (path.empty()) return Say("no recording is kept: there is no home folder; name a file with --recording");
  const Result<void> begun = record.RecordTo(path, now);
  if (!begun) Say(begun.error().message + "; the run goes on, and no recording is kept");
}

// Runs the workload with the session beside it.
tl::expected<WorkloadEnd, StartFailure> RunMeasured(Workload& workload, WorkloadSpec spec, LiveSessionSpec measured,
                                                    LiveSession& session) {
  const std::string run_id = NewRunId();
  Result<MarkerFile> markers = MarkerFile::Create();
  spec.environment.emplace_back("IDLEBURN_RUN_ID", run_id);
  if (markers) {
    spec.environment.emplace_back("IDLEBURN_MARKERS", markers->path());
  } else {
    Say(markers.error().message);
  }
  ReapedUsage reaped;
  spec.reaped = &reaped;
  const Instant started = session.Now();
  if (const auto start = workload.Start(spec); !start) return tl::unexpected<StartFailure>(start.error());
  session.Tell(RunWindow::StartFact(started));
  session.Tell(NoteKind::kWorkloadStarted, Joined(spec.command));
  measured.workload = HostWorkload{workload.pid(), getpid(), workload.helpers(), run_id, &reaped};
  measured.markers = markers ? &*markers : nullptr;
  // The driver may take seconds to list its GPUs; the workload and its signals do not wait for that.
  std::jthread opening([&](const std::stop_token& stop) { session.Start(measured, stop); });
  WorkloadEnd end = workload.Wait();
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
                const Environment& environment) {
  const Result<ReportPlan> plan = PlanReport(request.live.report, settings);
  if (!plan) return tl::unexpected<Error>(plan.error());
  const Result<LiveGpuOptions> gpus = request.live.GpuOptions();
  if (!gpus) return tl::unexpected<Error>(gpus.error());

  const std::unique_ptr<Workload> workload = Workload::Prepare();
  LiveRecord record(plan->thresholds);
  LiveSession session(record.inputs().devices, record);
  BeginRecording(request, record, session.Now());
  record.TellMachine();
  TellFacts(session, command);
  ProgressWatcher lines;
  WorkloadSpec spec;
  spec.command = std::move(command);
  spec.watcher = request.plain ? nullptr : &lines;
  LiveSessionSpec measured;
  measured.gpus = *gpus;
  measured.lines = request.plain ? nullptr : &lines;
  const auto end = RunMeasured(*workload, std::move(spec), measured, session);
  if (!end) {
    record.Discard();
    Say(end.error().error.message);
    return end.error().exit_code;
  }
  record.Close();
  if (!end->output_failure.empty()) Say(end->output_failure);
  if (end->exit_code != 0) Say("the command ended with " + Describe(*end));
  const Result<int> reported = ReportLive(*plan, record, session.why_no_gpu(), settings, environment);
  if (!reported) Say(reported.error().message);
  const int gate = reported.value_or(0);
  return end->exit_code != 0 ? end->exit_code : gate;
}

}  // namespace

Result<int> RunRun(const std::vector<std::string>& arguments, const Environment& environment) {
  const auto dashes = std::find(arguments.begin(), arguments.end(), "--");
  RunRequest request;
  request.live.report.to_stderr = true;
  std::vector<Flag> flags;
  const auto add = [&](const char* name, const char* value, const char* help) -> Flag& {
    return flags.emplace_back(Flag{name, value, help});
  };
  add("--output", "FILE", "write the report to FILE instead of standard error").text = &request.live.report.output;
  add("--recording", "FILE", "keep the recording in FILE (default: in the user's folder for data)").text =
      &request.recording;
  add("--no-recording", "", "keep no recording").on = &request.no_recording;
  add("--plain", "", "give the command our output as it is; progress it prints is not read").on = &request.plain;
  request.live.AppendTo(flags);
  std::string help;
  if (dashes == arguments.end() && !arguments.empty() && arguments.front().substr(0, 1) != "-") {
    return FailUsage("run: put the command behind two dashes: idleburn run -- " + arguments.front().substr(0, 60));
  }
  TRY(ReadFlags("run", "Runs a command, measures GPU and host meanwhile, and says what it cost: idleburn run -- CMD...",
                flags, {arguments.begin(), dashes}, &help));
  if (!help.empty()) {
    TRY(Print(help));
    return 0;
  }
  if (dashes == arguments.end() || dashes + 1 == arguments.end()) {
    return FailUsage("run: no command; put it behind two dashes: idleburn run --price 2.50 -- python train.py");
  }
  const Result<Settings> settings = request.live.settings.Load();
  if (!settings) return tl::unexpected<Error>(settings.error());
  return Run(request, {dashes + 1, arguments.end()}, *settings, environment);
}

}  // namespace idleburn
