#include "run/live_session.h"

#include <fcntl.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <filesystem>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#include "measure/host_lane.h"
#include "measure/sampler.h"
#include "measure/system_facts.h"
#include "telemetry/run_facts.h"

namespace idleburn {
namespace {

// How long Stop waits for the host's last reading. It cannot hang, but the machine may be busy, and it completes all
// sums.
constexpr Nanos kHostPatience(10 * kNanosPerSecond);

}  // namespace

LiveSession::LiveSession(DeviceTable& devices, LiveSink& sink)
    : devices_(devices), sink_(sink), clock_(SystemClock()), line_(clock_->Read()) {}

void LiveSession::Start(const LiveSessionSpec& spec, const std::stop_token& stop) {
  Try([&] { Open(spec, stop); });
}

// Telling the failure needs memory too, and may fail in the same way.
void LiveSession::Try(const std::function<void()>& part) {
  try {
    try {
      part();
    } catch (const std::exception& error) {
      Tell(RunFact{kMeasuringFailedFact, error.what()});
    }
  } catch (const std::exception&) {  // not even for that: the figures show that time as unobserved
    return;
  }
}

// The host comes first. Its readings must not wait for a driver that takes seconds to list its GPUs.
void LiveSession::Open(const LiveSessionSpec& spec, const std::stop_token& stop) {
  SamplerOptions options;
  options.period = spec.gpus.period;
  sampler_ = std::make_unique<Sampler>(options, clock_, line_, sink_);
  std::vector<std::unique_ptr<Lane>> host;
  host.push_back(std::make_unique<ClockLane>(clock_));
  host.push_back(std::make_unique<HostLane>(HostLaneSpec{"", spec.workload}));
  host.push_back(std::make_unique<WorkLane>(spec.markers, spec.lines));
  sampler_->Serve(std::move(host), kHostPatience);
  // GPUs have a thread of their own, because a driver may hang.
  LiveGpus gpus = LiveGpus::Open(spec.gpus, devices_, sampler_->sink(), clock_, line_, stop);
  why_no_gpu_ = gpus.why_not;
  nvidia_ = gpus.nvidia;
  // The facts about hidden GPUs go into the recording. An audit of it then counts the same GPUs as the live one.
  HiddenGpus hidden;
  if (spec.environment) hidden = GpusHiddenBy(spec.environment, gpus.gpus, devices_);
  HideWhatIsNotShown(spec.environment, IsContainer(""), gpus.gpus, devices_, &hidden);
  for (const RunFact& fact : hidden.Facts(devices_)) Tell(fact);
  std::error_code ignored;
  for (const RunFact& fact : SystemFacts("", std::filesystem::current_path(ignored).string())) Tell(fact);
  if (!gpus.lanes.empty()) sampler_->Serve(std::move(gpus.lanes));
}

void LiveSession::Stop() {
  if (sampler_ == nullptr) return;
  sampler_->Stop();
  for (const RunFact& fact : SamplerFacts(statistics())) sink_.OnFact(fact);
}

namespace {

constexpr int kLooks = 600;  // 30 s of them
constexpr useconds_t kLook = 50'000;
constexpr std::size_t kLongest = 4096;  // of an alert; the rest is cut off

// Says on standard error what went wrong. The process has no other way to be heard.
void Complain(const std::string& what) {
  const std::string line = "idleburn: --on-alert: " + what + "\n";
  if (write(STDERR_FILENO, line.data(), line.size()) < 0) return;  // nobody is left to be told
}

// Waits for a process by looking again and again, because waitpid has no time limit. False if it runs too long. A
// process that cannot be waited for counts as ended.
bool WaitFor(pid_t pid, int* status) {
  for (int look = 0; look < kLooks; ++look) {
    const pid_t ended = waitpid(pid, status, WNOHANG);
    if (ended == pid) return true;
    if (ended < 0 && errno != EINTR) return true;
    usleep(kLook);
  }
  return false;
}

// Runs the command for one alert, in a process group of its own. A command that runs too long is killed with its group.
void RunOnce(const char* command, const std::string& kind, const std::string& text) {
  const pid_t pid = fork();
  if (pid == 0) {
    setpgid(0, 0);
    setenv("IDLEBURN_ALERT_KIND", kind.c_str(), 1);
    setenv("IDLEBURN_ALERT", text.c_str(), 1);
    execl("/bin/sh", "sh", "-c", command, nullptr);
    _exit(127);
  }
  if (pid < 0) return Complain(std::string("cannot be run: ") + std::strerror(errno));
  int status = 0;
  if (!WaitFor(pid, &status)) {
    kill(-pid, SIGKILL);
    waitpid(pid, nullptr, 0);
    return Complain("it ran for more than 30 s, so idleburn ended it; the alert may not have arrived: " + text);
  }
  if (WIFEXITED(status) && WEXITSTATUS(status) == 0) return;
  const std::string how = WIFSIGNALED(status) ? "signal " + std::to_string(WTERMSIG(status))
                                              : "exit " + std::to_string(WEXITSTATUS(status));
  Complain("it ended with " + how + "; the alert may not have arrived: " + text);
}

// Runs commands until the socket closes. Their output goes to standard error, because standard output belongs to the
// workload. A session of its own keeps signals of the terminal away. As a subreaper it keeps what the commands leave
// behind from becoming idleburn's children.
[[noreturn]] void Serve(int in, const char* command) {
  constexpr int kIn = 3;
  setsid();
  prctl(PR_SET_NAME, "on-alert");
  prctl(PR_SET_CHILD_SUBREAPER, 1);
  dup2(open("/dev/null", O_RDONLY | O_CLOEXEC), STDIN_FILENO);
  dup2(STDERR_FILENO, STDOUT_FILENO);
  dup2(in, kIn);
  close_range(kIn + 1, ~0U, 0);  // it must not hold a pipe open that others read to its end
  fcntl(kIn, F_SETFD, FD_CLOEXEC);
  std::array<char, kLongest> message{};
  while (true) {
    const ssize_t n = recv(kIn, message.data(), message.size(), 0);
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) _exit(0);
    const std::string_view whole(message.data(), static_cast<std::size_t>(n));
    const std::size_t middle = whole.find('\0');
    if (middle == std::string_view::npos) continue;
    RunOnce(command, std::string(whole.substr(0, middle)), std::string(whole.substr(middle + 1)));
  }
}

}  // namespace

Result<std::unique_ptr<AlertCommand>> AlertCommand::Start(const std::string& command) {
  std::array<int, 2> ends{};
  if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends.data()) != 0) {
    return Fail(std::string("--on-alert: cannot create a socket: ") + std::strerror(errno));
  }
  const pid_t pid = fork();
  if (pid == 0) Serve(ends[0], command.c_str());
  const int failed = errno;
  close(ends[0]);
  if (pid < 0) {
    close(ends[1]);
    return Fail(std::string("--on-alert: cannot create a process: ") + std::strerror(failed));
  }
  return std::unique_ptr<AlertCommand>(new AlertCommand(pid, ends[1]));
}

AlertCommand::~AlertCommand() {
  shutdown(out_, SHUT_WR);  // ends it though somebody who was forked meanwhile holds the socket too
  close(out_);
  int status = 0;
  WaitFor(pid_, &status);
}

// A socket of whole messages: an alert arrives complete or not at all.
bool AlertCommand::Tell(const std::string& kind, const std::string& text) {
  const std::string message = (kind + '\0' + text).substr(0, kLongest);
  return send(out_, message.data(), message.size(), MSG_NOSIGNAL | MSG_DONTWAIT) ==
         static_cast<ssize_t>(message.size());
}

}  // namespace idleburn
