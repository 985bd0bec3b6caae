#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <cstdlib>
#include <functional>
#include <thread>
#include <utility>

#include "audit/keep_run.h"
#include "audit/live_record.h"
#include "audit/live_watch.h"
#include "audit/machine_facts.h"
#include "audit/watch_flags.h"
#include "cli/commands.h"
#include "history/users_history.h"
#include "measure/system_facts.h"
#include "os/digest.h"
#include "os/held_signals.h"
#include "os/input_file.h"
#include "price/find_rate.h"
#include "report/write_audit.h"
#include "run/live_session.h"
#include "telemetry/run_facts.h"
#include "terminal/output.h"
#include "terminal/progress.h"

// `idleburn record` measures a machine whose workload it did not start. It differs from `run` in three ways. The
// recording is what was asked for, so a recording that fails is an error. All GPUs count, unless --pid names a process.
// It ends by a signal, a time, or the end of that process.
//
// Ctrl-C must end the recording in order, with a report. So signals are held before any thread is started
// (HeldSignals).

namespace idleburn {
namespace {

// The flags as they were written.
struct RecordRequest {
  LiveFlags live;
  WatchFlags watch;
  std::string recording;
  // --for and --pid: what ends the recording besides a signal.
  std::string time;
  std::string pid;
  bool quiet = false;
};

// Waits for a signal, the end of the time, or the end of the process. Looks once a second and prints alerts meanwhile.
void WaitAndTell(const HeldSignals& end, std::optional<Nanos> time, const std::optional<RecordedProcess>& process,
                 LiveWatch& watch, AlertCommand* on_alert, Progress& progress) {
  const Nanos start = MonotonicNow();
  const Nanos until = start + time.value_or(Nanos(0));
  progress.Begin("recording", ProgressUnit::kNanos, static_cast<std::uint64_t>(time.value_or(Nanos(0)).count()));
  bool over = false;
  while (!over) {
    // A process that ends is noticed within this time too, since it is not our child and sends no signal.
    constexpr Nanos kLook(kNanosPerSecond);
    const Nanos left = time ? std::min(until - MonotonicNow(), kLook) : kLook;
    over = left <= Nanos(0) || end.Wait(left) || (process && !process->Runs());
    for (const WatchAlert& alert : watch.Take()) {
      progress.Hide();
      TellAlert(alert, on_alert);
    }
    if (!over) progress.Reach(static_cast<std::uint64_t>((MonotonicNow() - start).count()));
  }
  progress.End();
}

// After the last reading: closes the recording, writes the report, completes the row of the history. A failed recording
// is an error even if the report was written, because the recording is what was asked for.
Result<int> Conclude(AuditPlan& plan, LiveRecord& record, const LiveSession& session, RunKeeper& keeper, Instant ended,
                     const Settings& settings, const Environment& environment) {
  // Closed before the report: the recording is complete even if the audit fails.
  const Result<void> recorded = record.Close();
  if (keeper.Kept()) plan.shares = OwnShares(settings, ended, kPatienceAtTheEnd);
  ReportEnd report = ReportLive(plan, record, session.why_no_gpu(), environment);
  keeper.End(ended, {}, std::move(report.figures));
  const Result<int> code = report.Code();
  if (recorded) return code;
  // A gate that is broken has its own exit code, which wins over the failed recording.
  if (code && *code == 0) return tl::unexpected<Error>(recorded.error());  // the recording is what was asked for
  Say(recorded.error().message);
  return code;
}

// The whole command. Flags, prices and folders are checked first, then signals are held, then the recording is begun,
// and only then is the driver asked for its GPUs. That last step may take seconds and runs on a thread of its own.
Result<int> Record(const RecordRequest& request, const Settings& settings, const Environment& environment) {
  TRY(CheckFolder(request.live.report.output));
  AuditPlan plan = TRY(PlanAudit(request.live.report, settings, environment.now));
  const LiveGpuOptions gpus = TRY(request.live.GpuOptions());
  const std::optional<Nanos> time = TRY(ParseFor(request.time));
  const std::optional<RecordedProcess> process = TRY(RecordedProcess::Named(request.pid));
  std::map<std::string, std::string> tags = TRY(ParseTags(request.live.tags));
  const WatchPlan limits = TRY(request.watch.Plan(plan.prices, request.live.detect_cloud));
  if (request.live.no_history) TRY(RefuseMarks("record", request.live.tags, settings, "with --no-history"));
  // Absent with --no-history.
  std::optional<std::string> history;
  if (!request.live.no_history) history = HistoryFile(settings);
  const std::unique_ptr<AlertCommand> on_alert = TRY(request.watch.StartAlertCommand());
  std::signal(SIGXFSZ, SIG_IGN);  // a file at the limit of its size is an error of writing it
  const HeldSignals end(std::vector<int>{SIGINT, SIGTERM, SIGHUP});  // these end the recording in order
  LiveRecord record(plan.thresholds);
  LiveSession session(record.inputs().devices, record);
  // Without --pid there is no process whose GPUs could be told apart, so all GPUs count.
  LiveWatch watch(limits, plan.thresholds, !process.has_value());
  if (limits.limits.any()) record.WatchBy(&watch);
  const std::string path = request.recording.empty()
                               ? UsualRecordingPath(RecordingFolder(history.value_or("")), session.Now())
                               : request.recording;
  if (path.empty()) return Fail("there is no home folder to keep the recording in; name a file with -o");
  TRY(record.RecordTo(path, session.Now(), "-o", !request.recording.empty()));
  record.TellMachine();
  for (const RunFact& fact : limits.machine ? *limits.machine : MachineFacts(request.live.detect_cloud)) {
    session.Tell(fact);
  }
  RunKeeper keeper(history, NewRun("record", record.summary().facts(), settings, plan.prices.book));
  keeper.run().id = RandomIdText();
  keeper.run().started = session.Now();
  keeper.run().parent = OwnVariable("IDLEBURN_RUN_ID").value_or("");
  keeper.run().tags = std::move(tags);
  keeper.run().recording = FullPath(record.path());
  keeper.Begin();
  session.Tell(RunWindow::StartFact(keeper.run().started));
  session.Tell(RunFact{std::string(kRunIdFact), keeper.run().id});
  LiveSessionSpec spec;
  spec.gpus = gpus;
  if (process) {
    spec.workload = HostWorkload{process->pid(), 0, {getpid()}, {}, nullptr};  // which may have started us
    spec.environment = process->Variables();
  }
  if (const char* name = std::getenv("IDLEBURN_MARKERS")) {
    Result<MarkerFile> opened = MarkerFile::Open(name);
    if (opened) {
      spec.markers = std::make_shared<MarkerFile>(std::move(*opened));
    } else {
      Say(opened.error().message);
    }
  }
  if (!request.quiet) Say("recording to " + path + (time ? " for " + request.time : std::string("; end with Ctrl-C")));
  // May be called again if the driver fails later. The alert that nothing watches the limits is told once.
  auto only_host = [&, told = false](const std::string& why) mutable {
    Say("idleburn records only the host: " + why);
    if (!limits.limits.any() || std::exchange(told, true)) return;
    const WatchAlert alert = NothingIsWatched(why);
    TellAlert(alert, on_alert.get());
    session.Tell(NoteKind::kAlert, alert.text);
  };
  spec.gpus.tell_slow = std::ref(only_host);
  // The driver may take seconds to list its GPUs. The host is recorded and signals are heard meanwhile.
  std::jthread opening([&](const std::stop_token& stop) {
    session.Start(spec, stop);
    session.Try([&] {
      if (!session.why_no_gpu().empty()) only_host(session.why_no_gpu());
    });
  });
  Progress progress = Progress::OnStandardError(environment, request.quiet);
  WaitAndTell(end, time, process, watch, on_alert.get(), progress);
  const Instant ended = session.Now();
  session.Tell(RunWindow::EndFact(ended));  // before what is read while the driver is waited for
  opening.request_stop();
  opening.join();
  session.Stop();
  return Conclude(plan, record, session, keeper, ended, settings, environment);
}

}  // namespace

Result<int> RunRecord(const std::vector<std::string>& arguments, const Environment& environment) {
  RecordRequest request;
  // A price that fits no GPU must not cost the report of a recording that is finished.
  request.live.report.live = true;
  CommandFlags flags(LiveFlags::SettingKeys());
  flags.Add("--output", "FILE", "the recording (default: in the user's data folder)").text = &request.recording;
  flags.Add("--for", "TIME", "duration, for example 10m (default: until Ctrl-C)").text = &request.time;
  flags.Add("--pid", "PID", "record this process, on the GPUs visible to it, until it ends").text = &request.pid;
  // --output is the recording here, so the report has a flag of its own.
  flags.Add("--report", "FILE", "write the report to FILE instead of standard output").text =
      &request.live.report.output;
  flags.Add("--quiet", "", "print only alerts while recording").on = &request.quiet;
  request.watch.AddTo(flags);
  request.live.AddTo(flags);
  const auto settings = TRY(
      flags.Read("record", "Records this machine's GPUs and host until stopped, then prints the audit.", arguments));
  if (!settings) return 0;
  return Record(request, *settings, environment);
}

}  // namespace idleburn
