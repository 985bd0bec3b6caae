#include "run/crash_guard.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstring>

#include "run/workload.h"

namespace idleburn {
namespace {

constexpr std::array<int, 7> kCrashes = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT, SIGTRAP, SIGSYS};
constexpr char kAfterCrash[] = "after-crash";
constexpr int kLookMilliseconds = 1;
constexpr int kPatienceToTellMilliseconds = 1000;

// A signal handler is given nothing else.
std::atomic<ServedCommand*>& Guarded() {
  static auto* const kGuarded = new std::atomic<ServedCommand*>(nullptr);
  return *kGuarded;
}

sigset_t Crashes() {
  sigset_t set;
  sigemptyset(&set);
  for (const int signal : kCrashes) sigaddset(&set, signal);
  return set;
}

// From here on to the end of SurviveCrashes: what a signal handler may do, in memory that may be damaged.

void Tell(int signal, const char* rest) {
  std::array<char, 160> line{};
  std::size_t size = 0;
  for (const char* part : {"idleburn: crashed (SIG", sigabbrev_np(signal), rest}) {
    for (; *part != '\0' && size < line.size(); ++part) line[size++] = *part;
  }
  pollfd ready{STDERR_FILENO, POLLOUT, 0};
  if (poll(&ready, 1, kPatienceToTellMilliseconds) <= 0) return;  // nobody reads
  if (write(STDERR_FILENO, line.data(), size) < 0) return;
}

bool AnEndIsAskedFor() {
  sigset_t waiting;
  sigpending(&waiting);
  for (const int signal : {SIGINT, SIGQUIT, SIGTERM, SIGHUP}) {
    if (sigismember(&waiting, signal) == 1) return true;
  }
  return false;
}

// What other threads have read is written, unless who reads it does not and the user will not wait for that.
void AwaitHeldBytes(ServedCommand& served) {
  served.handing_over = true;
  for (const ServedChannel& channel : served.channels) {
    while (channel.holder != 0 && !AnEndIsAskedFor()) poll(nullptr, 0, kLookMilliseconds);
  }
}

// This thread will write no more.
void LetGo(ServedCommand& served) {
  for (ServedChannel& channel : served.channels) {
    if (channel.holder == gettid()) channel.holder = 0;
  }
}

void KeepOpen(int fd) {
  if (fd >= 0) fcntl(fd, F_SETFD, 0);
}

void StartAnew(ServedCommand& served) {
  KeepOpen(served.memory);
  KeepOpen(served.life);
  for (const ServedChannel& channel : served.channels) {
    if (channel.from < 0) continue;
    KeepOpen(channel.from);
    KeepOpen(channel.to);
    KeepOpen(channel.child_end);
  }
  const sigset_t crashes = Crashes();
  sigset_t before;
  pthread_sigmask(SIG_UNBLOCK, &crashes, &before);
  std::array<char, 9> name = {"idleburn"};
  std::array<char, sizeof kAfterCrash> word{};
  std::memcpy(word.data(), kAfterCrash, sizeof kAfterCrash);
  char* const words[] = {name.data(), word.data(), served.number.data(), nullptr};
  execve("/proc/self/exe", words, environ);
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
}

// The last resort, beside threads that may do no more: those that copy go on.
[[noreturn]] void AwaitEnd(ServedCommand& served) {
  served.handing_over = false;
  while (served.exit_code < 0) {
    siginfo_t end{};
    const int waited = waitid(P_PID, static_cast<id_t>(served.pid), &end, WEXITED | WNOWAIT);
    if (waited == 0) served.exit_code = ExitCodeOf(end);
    if (waited != 0 && errno != EINTR) poll(nullptr, 0, kLookMilliseconds);
  }
  constexpr int kMostLooks = 2000;
  for (int look = 0; look < kMostLooks && !served.over; ++look) poll(nullptr, 0, kLookMilliseconds);
  _exit(served.exit_code);
}

void OnCrash(int signal) {
  ServedCommand* const served = Guarded();
  if (getpid() != served->server || served->pid < 0) {  // a process that we forked, or nothing to serve
    std::signal(signal, SIG_DFL);
    raise(signal);  // when this returns
    return;
  }
  LetGo(*served);
  while (served->crashed.exchange(true)) pause();  // another thread is about to end us
  if (served->over) {
    Tell(signal, "); the command had ended, and the report may be missing\n");
    _exit(served->exit_code);
  }
  Tell(signal, "); the command goes on, but is not measured or watched any more, and there is no report\n");
  AwaitHeldBytes(*served);
  StartAnew(*served);
  AwaitEnd(*served);
}

}  // namespace

void SurviveCrashes(ServedCommand* served) {
  if (served->memory < 0) return;  // no descriptor was to be had
  Guarded() = served;
  struct sigaction action {};
  action.sa_handler = OnCrash;
  action.sa_flags = SA_ONSTACK;
  action.sa_mask = Crashes();  // a crash in the handler ends us
  for (const int signal : kCrashes) {
    struct sigaction before {};
    sigaction(signal, nullptr, &before);
    if (before.sa_handler == SIG_IGN) continue;  // as the command is to find it; a fault of ours ends us then
    sigaction(signal, &action, nullptr);
  }
}

std::optional<int> ServeAfterCrash(const std::vector<std::string>& words) {
  if (words.size() != 2 || words[0] != kAfterCrash) return std::nullopt;
  ServedCommand* const served = ServedCommand::TakeUp(words[1].c_str());
  if (served == nullptr) return std::nullopt;
  prctl(PR_SET_NAME, "idleburn");
  const std::unique_ptr<Workload> workload = Workload::TakeUp(served);
  const WorkloadEnd end = workload->Wait();
  if (!end.output_failure.empty()) std::fprintf(stderr, "idleburn: %s\n", end.output_failure.c_str());
  return end.exit_code;
}

}  // namespace idleburn
