#include <fmt/format.h>
#include <termios.h>
#include <unistd.h>

#include <array>
#include <csignal>
#include <cstring>

#include "audit/keep_run.h"
#include "cli/commands.h"
#include "config/common_flags.h"
#include "config/flag_values.h"
#include "os/digest.h"
#include "os/output_file.h"
#include "report/drill_output.h"
#include "terminal/output.h"
#include "terminal/progress.h"
#include "text/command_line.h"
#include "trial/drill.h"
#include "trial/trial.h"

// `idleburn drill`: interrupts a command as a cloud would, resumes it, and says what was lost. The drill itself
// (trial/drill.h) touches no process: it gets functions. This file makes them from a prepared process, a scratch folder
// and a watch on checkpoint files. So tests can drill an invented job in milliseconds.

namespace idleburn {
namespace {

constexpr auto kDrillFormats = FormatsOf(kDrillWriters);

// Restores the modes of the user's terminal at the end. A command that is killed cannot do it itself, and would leave,
// for example, a shell without echo.
class KeptTerminal {
 public:
  KeptTerminal() : known_(tcgetattr(STDIN_FILENO, &modes_) == 0) {}
  ~KeptTerminal() {
    if (!known_) return;
    // SIGTTOU would stop a process that was put into the background meanwhile.
    sigset_t stop;
    sigset_t before;
    sigemptyset(&stop);
    sigaddset(&stop, SIGTTOU);
    pthread_sigmask(SIG_BLOCK, &stop, &before);
    tcsetattr(STDIN_FILENO, TCSANOW, &modes_);
    pthread_sigmask(SIG_SETMASK, &before, nullptr);
  }
  KeptTerminal(const KeptTerminal&) = delete;
  KeptTerminal& operator=(const KeptTerminal&) = delete;

 private:
  termios modes_{};
  bool known_;  // false: standard input is no terminal
};

// Runs the drill. It prepares a scratch folder, the watch on checkpoint files, and the process that starts the
// command, and hands RunDrill only functions: the drill itself touches no process.
Result<DrillResult> MeasureDrill(const DrillRequest& request, DrillSpec& spec, Progress& progress) {
  std::optional<ScratchFolder> scratch;
  if (request.scratch || !request.copy.empty()) {
    ScratchFolder made = TRY(ScratchFolder::Make(request.copy));
    scratch.emplace(std::move(made));
    spec.leg.folder = scratch->path();
    spec.leg.environment.emplace_back("IDLEBURN_SCRATCH", scratch->path());
  }
  std::optional<CheckpointWatch> files;
  if (!request.checkpoint.empty()) {
    // A relative path is relative to the folder in which the command runs.
    const bool inside = scratch && request.checkpoint.front() != '/';
    files.emplace(inside ? scratch->path() + "/" + request.checkpoint : request.checkpoint);
    spec.leg.files = &*files;
  }
  // The command may change the terminal and be killed before it restores it.
  const KeptTerminal terminal;
  const std::unique_ptr<Workload> workload = Workload::Prepare();
  const CommandOutput output(request.show_output);
  spec.leg.output = output.fd();
  DrillWorld world;
  world.run = [&](const LegSpec& leg) {
    progress.Add(0);
    auto ran = RunLeg(*workload, leg);
    progress.Add(1);
    return ran;
  };
  world.interrupted = [&] { return workload->EndedBefore(); };
  world.tell = [&](const std::string& line) {
    if (request.quiet) return;
    progress.Hide();
    Say(line);
  };
  Result<DrillResult> result = RunDrill(spec, world);
  progress.End();
  // `files` ends here, and the spec outlives it.
  spec.leg.files = nullptr;
  return result;
}

// The whole command. The seed that places the interruptions is random but printed, so that a failed drill can be
// repeated.
Result<int> Drill(const DrillRequest& request, const std::vector<std::string>& command, ReportFormat format,
                  const Environment& environment) {
  // All flags are read before the first leg, since a drill may take hours.
  const bool gate = TRY(request.FailsOnFail());
  const std::optional<Nanos> uptime = TRY(request.Uptime());
  const std::int64_t nodes = TRY(request.Nodes());
  std::uint64_t seed = 0;
  std::memcpy(&seed, RandomId().data(), sizeof seed);
  DrillSpec spec = TRY(request.Spec(command, seed));
  if (!request.quiet) {
    Say(fmt::format("runs the command {} times and interrupts each run with {}; Ctrl-C ends the drill", spec.rounds + 1,
                    SignalName(spec.leg.interruption.signal)));
  }
  // What the command prints would be torn by the line.
  Progress progress = Progress::OnStandardError(environment, request.quiet || request.show_output);
  progress.Begin("running the command", ProgressUnit::kRuns, static_cast<std::uint64_t>(spec.rounds) + 1);
  Result<DrillResult> result = MeasureDrill(request, spec, progress);
  if (!result) return tl::unexpected<Error>(Error{"drill: " + result.error().message});
  DrillReport report;
  report.command = ShownCommand(command);
  report.ids = OwnIds();
  report.resume = ShownCommand(spec.resume);
  report.cloud = request.cloud;
  report.uptime = uptime;
  report.nodes = nodes;
  report.reading = ReadDrill(*result);
  report.spec = std::move(spec);
  report.result = std::move(*result);
  TRY(WriteOutput(request.output,
                  Written(kDrillWriters, format, report, PaperFor(environment, request.output, {request.full}))));
  // The usual exit code of a program that a signal ended.
  if (report.result.interrupted) return 128 + *report.result.interrupted;
  return gate && report.reading.verdict == DrillVerdict::kFail ? kExitGate : 0;
}

}  // namespace

Result<int> RunDrillCommand(const std::vector<std::string>& arguments, const Environment& environment) {
  DrillRequest request;
  CommandFlags flags({"output."});
  flags.Writes(kDrillFormats);
  request.AddTo(flags);
  std::vector<std::string> command;
  const auto settings = TRY(flags.ReadBeforeDashes(
      "drill",
      "Interrupts a command as a cloud does, resumes it, and reports what was lost, skipped or repeated: "
      "idleburn drill -- CMD...",
      arguments, "drill -- python train.py", &command));
  if (!settings) return 0;
  const ReportFormat format = TRY(ChooseFormat(*settings, "drill", request.output, kDrillFormats));
  return Drill(request, command, format, environment);
}

}  // namespace idleburn
