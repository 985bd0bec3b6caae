#include "run/workload.h"

#include <poll.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <new>
#include <set>
#include <string>
#include <string_view>
#include <thread>
#include <utility>

#include "base/result.h"
#include "measure/proc_files.h"
#include "os/held_signals.h"
#include "os/kept_file.h"
#include "text/secrets.h"

namespace idleburn {

// All signals are blocked before the fork, so that the witness misses none. It dies with its parent.
std::unique_ptr<Witness> Witness::Start() {
  void* memory = mmap(nullptr, sizeof(Counts), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) return nullptr;
  std::unique_ptr<Witness> witness(new Witness(new (memory) Counts()));
  sigset_t all;
  sigset_t before;
  sigfillset(&all);
  sigprocmask(SIG_SETMASK, &all, &before);  // before the fork: it must not miss the first
  const pid_t parent = getpid();
  witness->pid_ = fork();
  if (witness->pid_ == 0) {
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != parent) _exit(0);
    Watch(*witness->counts_);
  }
  sigprocmask(SIG_SETMASK, &before, nullptr);
  if (witness->pid_ < 0) return nullptr;
  return witness;
}

Witness::~Witness() {
  if (pid_ > 0) {
    kill(pid_, SIGKILL);
    waitpid(pid_, nullptr, 0);
  }
  munmap(counts_, sizeof(Counts));
}

// Looks every millisecond. A signal that is sent to a group is pending at the witness at once, so 20 ms without one
// suffice.
bool Witness::SawToo(int signal) {
  const auto index = static_cast<std::size_t>(signal);
  for (int waited = 0; waited <= kPendingPatienceMilliseconds; ++waited) {
    const bool over = waited >= kPatienceMilliseconds && !IsPending(signal);
    const std::uint32_t now = counts_->received[index].load();
    if (now != known_[index]) {
      known_[index] = now;
      return true;
    }
    if (over) break;
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  return false;
}

// Whether the signal is pending at the witness. The kernel marks a signal for a whole group at once, even if a process
// runs only later. A witness that does not sleep is about to count one.
bool Witness::IsPending(int signal) const {
  const std::string status = FileText("/proc/" + std::to_string(pid_) + "/status");
  constexpr std::string_view kState = "\nState:\t";
  const std::size_t state = status.find(kState);
  if (state == std::string::npos) return false;
  const char now = status[state + kState.size()];
  if (now == 'Z' || now == 'X') return false;
  if (now != 'S') return true;
  for (const char* const name : {"\nSigPnd:\t", "\nShdPnd:\t"}) {
    const std::size_t at = status.find(name);
    if (at == std::string::npos) continue;
    const std::uint64_t pending = std::strtoull(status.c_str() + at + std::strlen(name), nullptr, 16);
    if ((pending >> (signal - 1) & 1) != 0) return true;
  }
  return false;
}

void Witness::Watch(Counts& counts) {
  // Changes the process name, so that `killall idleburn` does not reach the witness and look like a signal to the
  // group.
  prctl(PR_SET_NAME, "signal-witness");
  close_range(0, ~0U, 0);  // it must not hold a pipe open that others read to its end
  sigset_t all;
  sigfillset(&all);
  while (true) {
    const int signal = sigwaitinfo(&all, nullptr);
    if (signal > 0) ++counts.received[static_cast<std::size_t>(signal)];
  }
}

namespace {

// Signals that are passed on to the workload, unless it has them already.
constexpr std::array<int, 8> kPassedOn = {SIGINT, SIGQUIT, SIGTERM, SIGHUP, SIGUSR1, SIGUSR2, SIGTSTP, SIGCONT};

// Signals that idleburn blocks and drops. The call that caused one fails with an error instead (a pipe without a
// reader, a file at its size limit). They must not end idleburn before the workload.
constexpr std::array<int, 3> kFailsInstead = {SIGPIPE, SIGXFSZ, SIGXCPU};
// How often signals are polled without a signalfd.
constexpr int kSignalLookMilliseconds = 20;

// Whether a signal usually ends a program, and so asks for the end of the run.
bool EndsProcesses(int signal) {
  return signal == SIGINT || signal == SIGQUIT || signal == SIGTERM || signal == SIGHUP;
}

// SIGSTOP is absent: its sender wants to stop this process, not the shell's job.
bool StopsForTerminal(int signal) { return signal == SIGTSTP || signal == SIGTTIN || signal == SIGTTOU; }

// How a process ended, from what wait4 returned.
WorkloadEnd EndOf(int status, const rusage& used) {
  WorkloadEnd end;
  ReapedUsage usage;
  usage.Add(used);
  end.cpu_ns = usage.total().cpu_ns;
  if (WIFSIGNALED(status)) {
    end.signal = WTERMSIG(status);
    end.exit_code = 128 + WTERMSIG(status);
    end.core_dumped = WCOREDUMP(status);
  } else {
    end.exit_code = WEXITSTATUS(status);
  }
  return end;
}

}  // namespace

std::string Describe(const WorkloadEnd& end) {
  if (!end.signal) return "exit " + std::to_string(end.exit_code);
  const char* name = sigabbrev_np(*end.signal);
  std::string text = "signal " + std::to_string(*end.signal);
  if (name != nullptr) text += " (SIG" + std::string(name) + ")";
  return end.core_dumped ? text + ", core dumped" : text;
}

int ExitCodeOf(const siginfo_t& end) { return end.si_code == CLD_EXITED ? end.si_status : 128 + end.si_status; }

// The signals are held before the witness starts, so that no signal comes between.
std::unique_ptr<Workload> Workload::Prepare() {
  std::unique_ptr<Workload> workload(new Workload());
  workload->others_ = DescendantsOf(getpid());  // whoever became us by exec may have started some
  workload->served_ = ServedCommand::Make();
  workload->HoldSignals();
  workload->witness_ = Witness::Start();
  if (workload->witness_ != nullptr) workload->served_->witness = workload->witness_->pid();
  prctl(PR_SET_CHILD_SUBREAPER, 1);
  return workload;
}

std::unique_ptr<Workload> Workload::TakeUp(ServedCommand* served) {
  std::unique_ptr<Workload> workload(new Workload());
  workload->served_ = served;
  workload->HoldSignals();
  // The witness of the earlier image is useless, because its counts are lost.
  if (served->witness > 0 && waitpid(served->witness, nullptr, WNOHANG) == 0) kill(served->witness, SIGKILL);
  workload->witness_ = Witness::Start();
  workload->pid_ = served->pid;
  if (served->exit_code >= 0) workload->end_ = WorkloadEnd{served->exit_code, {}, false, 0, {}};
  workload->relay_ = OutputRelay::TakeUp(*served);
  return workload;
}

// The record for a successor is reset first and completed last. A crash in between finds no command to serve.
tl::expected<void, StartFailure> Workload::Start(const WorkloadSpec& spec) {
  CHECK(pid_ < 0);
  end_signals_.clear();
  served_->pid = -1;
  served_->over = false;
  served_->exit_code = -1;
  for (ServedChannel& channel : served_->channels) channel.from = -1;
  reaped_ = spec.reaped;
  SpawnSpec spawn;
  spawn.command = spec.command;
  spawn.environment = spec.environment;
  spawn.mask = mask_before_;
  spawn.confinement = spec.confinement;
  spawn.folder = spec.folder;
  spawn.ignores_child_signal = child_before_.sa_handler == SIG_IGN;
  if (spec.watcher != nullptr) {
    Result<std::unique_ptr<OutputRelay>> relay = OutputRelay::Open(*spec.watcher, *served_, spec.output);
    // Without a relay the command inherits idleburn's output and runs all the same. Only output that must go
    // elsewhere needs one.
    if (!relay && spec.output >= 0) return tl::unexpected<StartFailure>(StartFailure{relay.error(), 126});
    no_relay_ = relay ? "" : relay.error().message + "; its output is not read";
    if (relay) relay_ = std::move(*relay);
    if (relay) spawn.out = relay_->child_out();
    if (relay) spawn.err = relay_->child_err();
  }
  if (const std::optional<int> signal = EndedBefore()) {
    const std::string name = Describe(WorkloadEnd{128 + *signal, *signal, false, 0, {}});
    return tl::unexpected<StartFailure>(
        StartFailure{{WithoutSecrets(spec.command[0]) + ": not started, by " + name}, 128 + *signal});
  }
  spawn.told = &served_->pid;
  const tl::expected<pid_t, StartFailure> pid = Spawn(spawn);
  served_->pid = pid.value_or(-1);
  if (!pid) return tl::unexpected<StartFailure>(pid.error());
  pid_ = *pid;
  if (relay_ != nullptr) relay_->Start();
  return {};
}

std::vector<pid_t> Workload::helpers() const {
  std::vector<pid_t> pids = relay_ == nullptr ? std::vector<pid_t>() : relay_->helpers();
  if (witness_ != nullptr) pids.push_back(witness_->pid());
  pids.insert(pids.end(), others_.begin(), others_.end());
  return pids;
}

// Takes all waiting signals. The witness is asked about each, so that its counts stay in step.
std::optional<int> Workload::EndedBefore() const {
  std::optional<int> ended;
  while (const std::optional<CameSignal> came = NextSignal()) {
    const int signal = came->number;
    if (witness_ != nullptr && signal != SIGCHLD) witness_->SawToo(signal);
    struct sigaction action {};
    sigaction(signal, nullptr, &action);
    if (EndsProcesses(signal) && action.sa_handler != SIG_IGN) ended = signal;  // nohup lets SIGHUP pass
  }
  return ended;
}

Workload::~Workload() {
  relay_.reset();
  witness_.reset();
  ReleaseSignals();
}

// Takes the next blocked signal that is pending.
std::optional<Workload::CameSignal> Workload::NextSignal() const {
  if (signals_ >= 0) {
    signalfd_siginfo info{};
    if (read(signals_, &info, sizeof info) != sizeof info) return std::nullopt;
    return CameSignal{static_cast<int>(info.ssi_signo), info.ssi_code == SI_KERNEL};
  }
  siginfo_t info{};
  const timespec now{};
  const int number = sigtimedwait(&held_, &info, &now);
  if (number <= 0) return std::nullopt;
  return CameSignal{number, info.si_code == SI_KERNEL};
}

// A signalfd lets one poll wait for signals and for the end of the output.
void Workload::HoldSignals() {
  sigemptyset(&held_);
  for (const int signal : kPassedOn) sigaddset(&held_, signal);
  sigaddset(&held_, SIGWINCH);
  sigaddset(&held_, SIGCHLD);
  sigset_t blocked = held_;
  for (const int signal : kFailsInstead) sigaddset(&blocked, signal);  // they stay pending and are dropped
  pthread_sigmask(SIG_BLOCK, &blocked, &mask_before_);
  struct sigaction standard {};
  standard.sa_handler = SIG_DFL;
  sigaction(SIGCHLD, &standard, &child_before_);  // if it was ignored, the kernel would keep the exit code from us
  signals_ = signalfd(-1, &held_, SFD_CLOEXEC | SFD_NONBLOCK);
}

void Workload::ReleaseSignals() const {
  // Drops pending signals, because they came while the workload ran.
  while (NextSignal()) continue;
  if (signals_ >= 0) close(signals_);
  sigset_t ours;
  sigemptyset(&ours);
  for (const int signal : kFailsInstead) {
    if (sigismember(&mask_before_, signal) == 0) sigaddset(&ours, signal);
  }
  const timespec now{};
  while (sigtimedwait(&ours, nullptr, &now) > 0) continue;
  sigaction(SIGCHLD, &child_before_, nullptr);
  pthread_sigmask(SIG_SETMASK, &mask_before_, nullptr);
}

// Serves processes first and signals afterwards, until the workload ended and its output is copied.
std::optional<WorkloadEnd> Workload::WaitUntil(std::optional<Nanos> deadline) {
  while (true) {
    WaitForProcesses();
    if (end_ && relay_ == nullptr) break;
    if (end_ && !finishing_) {
      relay_->Finish();
      finishing_ = true;
    }
    std::array<pollfd, 2> waits = {{{signals_, POLLIN, 0}, {finishing_ ? relay_->done_fd() : -1, POLLIN, 0}}};
    int timeout = deadline ? MillisecondsUntil(*deadline) : -1;
    if (signals_ < 0) timeout = timeout < 0 ? kSignalLookMilliseconds : std::min(timeout, kSignalLookMilliseconds);
    const int ready = poll(waits.data(), waits.size(), timeout);
    if (ready < 0 && errno != EINTR) usleep(1000 * kSignalLookMilliseconds);  // no memory, say: the workload goes on
    if (finishing_ && waits[1].revents != 0) break;
    ServeSignals();
    if (ready == 0 && deadline && MillisecondsUntil(*deadline) == 0) return std::nullopt;
  }
  served_->over = true;
  WorkloadEnd end = end_.value_or(WorkloadEnd{});
  end.output_failure = std::exchange(no_relay_, {});
  if (relay_ != nullptr) {
    relay_->LeaveCopiers();
    end.output_failure = relay_->failure();
    relay_.reset();
  }
  end_.reset();
  pid_ = -1;
  finishing_ = false;
  last_ = end;
  return end;
}

// The descendants of idleburn, without helpers and without what others had started before.
std::vector<pid_t> Workload::Processes() {
  WaitForProcesses();
  std::vector<pid_t> living = DescendantsOf(getpid());
  std::vector<pid_t> ours = helpers();
  for (const pid_t other : others_) {
    const std::vector<pid_t> theirs = DescendantsOf(other);
    ours.insert(ours.end(), theirs.begin(), theirs.end());
  }
  std::erase_if(living, [&](pid_t pid) { return std::find(ours.begin(), ours.end(), pid) != ours.end(); });
  return living;
}

std::size_t Workload::Signal(int signal, bool only_handled) {
  std::size_t sent = 0;
  std::string buffer;
  for (const pid_t pid : Processes()) {
    if (only_handled) {
      KeptFile file("/proc/" + std::to_string(pid) + "/status", nullptr);
      const std::optional<std::string_view> status = file.Read(buffer);
      if (!status || !CatchesSignal(*status, signal).value_or(false)) continue;
    }
    if (kill(pid, signal) != 0) continue;
    kill(pid, SIGCONT);
    ++sent;
  }
  return sent;
}

// Looks again and again, because a process that is asked to end may start others. SIGTERM has one second, SIGKILL
// five.
std::size_t Workload::EndLeftovers() {
  constexpr std::array<std::pair<int, int>, 2> kTries = {{{SIGTERM, 100}, {SIGKILL, 500}}};  // signal, looks
  std::vector<pid_t> left;
  for (const auto& [signal, looks] : kTries) {
    std::set<pid_t> asked;
    for (int look = 0; look < looks; ++look) {
      left = Processes();
      if (left.empty()) return 0;
      for (const pid_t pid : left) {
        if (asked.insert(pid).second) kill(pid, signal);
      }
      std::this_thread::sleep_for(std::chrono::milliseconds(10));
    }
  }
  return left.size();
}

void Workload::ServeSignals() {
  while (const std::optional<CameSignal> came = NextSignal()) Serve(came->number, came->from_kernel);
}

// Serves one signal. `by_terminal`: the kernel sent it to the whole foreground group, so the workload has it.
void Workload::Serve(int signal, bool by_terminal) {
  if (signal == SIGCHLD) return;  // processes are waited for in any case
  if (EndsProcesses(signal)) end_signals_.push_back(signal);
  if (signal == SIGWINCH) {
    // The terminal told the workload too, perhaps before the pseudo-terminal had the new size. So it is told again.
    if (relay_ != nullptr && relay_->CopyWindowSize() && !end_) kill(pid_, SIGWINCH);
    return;
  }
  const bool has_it = (witness_ != nullptr && witness_->SawToo(signal)) || by_terminal;
  if (!end_) {
    if (!has_it) kill(pid_, signal);
    return;
  }
  // Only the last output remains to be copied, and the user wants to leave.
  if (EndsProcesses(signal) && relay_ != nullptr) relay_->Abandon();
}

// The workload stopped, by Ctrl-Z or by itself. idleburn stops too, so that the shell gets the terminal back. The
// shell's fg wakes the whole group.
void Workload::StopWithIt() const {
  sigset_t stop;
  sigemptyset(&stop);
  sigaddset(&stop, SIGTSTP);
  raise(SIGTSTP);  // held back still; a SIGCONT from here on takes it away again
  if (relay_ != nullptr) {
    relay_->Settle();
    relay_->TakeBackModes();
  }
  siginfo_t info{};
  if (waitid(P_PID, static_cast<id_t>(pid_), &info, WCONTINUED | WNOHANG) == 0 && info.si_pid == pid_) {
    const timespec now{};
    sigtimedwait(&stop, nullptr, &now);  // it was woken before we could stop: nobody would wake us
  } else {
    pthread_sigmask(SIG_UNBLOCK, &stop, nullptr);  // stops here until SIGCONT
    pthread_sigmask(SIG_BLOCK, &stop, nullptr);
  }
  if (relay_ != nullptr) relay_->ResumeModes();
}

// Children end in any order. Each is recognised: the workload, the witness, an heir, or an orphan whose use counts.
void Workload::WaitForProcesses() {
  while (true) {
    // Records the exit code before waitid makes the kernel forget it. A successor may need it.
    siginfo_t changed{};
    if (waitid(P_ALL, 0, &changed, WEXITED | WSTOPPED | WNOHANG | WNOWAIT) != 0 || changed.si_pid == 0) return;
    if (changed.si_pid == pid_ && changed.si_code != CLD_STOPPED) served_->exit_code = ExitCodeOf(changed);
    int status = 0;
    rusage used{};
    const pid_t pid = wait4(changed.si_pid, &status, WNOHANG | WUNTRACED, &used);
    if (pid <= 0) continue;
    if (WIFSTOPPED(status)) {
      if (pid == pid_ && StopsForTerminal(WSTOPSIG(status))) StopWithIt();
      continue;
    }
    if (witness_ != nullptr && pid == witness_->pid()) {
      witness_->Ended();
      continue;
    }
    if (relay_ != nullptr && relay_->HeirEnded(pid)) continue;
    if (reaped_ != nullptr) reaped_->Add(used);
    if (pid == pid_) end_ = EndOf(status, used);
  }
}

}  // namespace idleburn
