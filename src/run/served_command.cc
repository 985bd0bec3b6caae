#include "run/served_command.h"

#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <csignal>
#include <cstddef>
#include <cstdio>
#include <cstring>
#include <new>
#include <vector>

#include "measure/proc_files.h"
#include "run/workload.h"
#include "text/secrets.h"

namespace idleburn {
namespace {

// Bits that the kernel keeps among the local modes but that are states and no modes.
constexpr tcflag_t kNoModes = PENDIN | FLUSHO | EXTPROC;

// Sets the modes of a terminal. SIGTTOU is blocked meanwhile, because it would stop a job in the background.
void SetModes(int terminal, const termios& modes) {
  sigset_t stop;
  sigset_t mask;
  sigemptyset(&stop);
  sigaddset(&stop, SIGTTOU);
  pthread_sigmask(SIG_BLOCK, &stop, &mask);
  tcsetattr(terminal, TCSANOW, &modes);
  pthread_sigmask(SIG_SETMASK, &mask, nullptr);
}

// Whether this process may set the modes now. Any process may, if the terminal does not control its session.
bool InFront(int terminal) {
  const pid_t front = tcgetpgrp(terminal);
  return front < 0 || front == getpgrp();
}

// Whether the terminal's foreground job belongs to the workload, which may be a shell with jobs. Modes of another
// program in front, such as an editor, must not be touched.
bool OursInFront(int terminal) {
  if (InFront(terminal)) return true;
  const std::vector<pid_t> ours = DescendantsOf(getpid());
  return std::find(ours.begin(), ours.end(), tcgetpgrp(terminal)) != ours.end();
}

}  // namespace

// VMIN and VTIME are numbers. All their bits are carried over together.
void TerminalModes::Lay(const termios& now, termios* outer) {
  const termios& opened = carried_.opened;
  carried_.input.Lay(opened.c_iflag ^ now.c_iflag, now.c_iflag, &outer->c_iflag);
  carried_.output.Lay(opened.c_oflag ^ now.c_oflag, now.c_oflag, &outer->c_oflag);
  carried_.local.Lay((opened.c_lflag ^ now.c_lflag) & ~kNoModes, now.c_lflag, &outer->c_lflag);
  const auto lay_number = [&](std::size_t i, CarriedBits* carried) {
    carried->Lay(opened.c_cc[i] == now.c_cc[i] ? 0 : 0xFF, now.c_cc[i], &outer->c_cc[i]);
  };
  lay_number(VMIN, &carried_.least);
  lay_number(VTIME, &carried_.time);
}

void TerminalModes::Set(const termios& now, int outer) {
  termios modes{};
  if (tcgetattr(outer, &modes) != 0) return;
  Lay(now, &modes);
  SetModes(outer, modes);
  carried_.seen = now;
}

// Whether `now` differs from the modes that were carried over last.
bool TerminalModes::Changes(const termios& now) const {
  const termios& seen = carried_.seen;
  return now.c_iflag != seen.c_iflag || now.c_oflag != seen.c_oflag ||
         ((now.c_lflag ^ seen.c_lflag) & ~kNoModes) != 0 || now.c_cc[VMIN] != seen.c_cc[VMIN] ||
         now.c_cc[VTIME] != seen.c_cc[VTIME];
}

void TerminalModes::Follow(int inner, int outer) {
  const std::scoped_lock lock(mutex_);
  termios now{};
  if (paused_ || tcgetattr(inner, &now) != 0) return;
  if (Changes(now) && OursInFront(outer)) Set(now, outer);
}

void TerminalModes::TakeBack(int outer) {
  const std::scoped_lock lock(mutex_);
  paused_ = true;
  if (Changes(carried_.opened) && OursInFront(outer)) Set(carried_.opened, outer);
}

void TerminalModes::Resume() {
  const std::scoped_lock lock(mutex_);
  paused_ = false;
}

void TerminalModes::TakeBackAlone(int outer) {
  if (Changes(carried_.opened) && InFront(outer)) Set(carried_.opened, outer);
}

namespace {

// Maps a descriptor, or memory without one, for this process and those forked later. Null if there is no memory.
void* Map(int fd) {
  const int flags = fd < 0 ? MAP_SHARED | MAP_ANONYMOUS : MAP_SHARED;
  void* memory = mmap(nullptr, sizeof(ServedCommand), PROT_READ | PROT_WRITE, flags, fd, 0);
  return memory == MAP_FAILED ? nullptr : memory;
}

}  // namespace

// Without shared memory it is ordinary memory. The command is served all the same, but a crash then ends idleburn.
ServedCommand* ServedCommand::Make() {
  int fd = memfd_create("served-command", MFD_CLOEXEC);
  if (fd >= 0 && ftruncate(fd, sizeof(ServedCommand)) != 0) {
    close(fd);
    fd = -1;
  }
  void* memory = Map(fd);
  ServedCommand* served = memory == nullptr ? new ServedCommand() : new (memory) ServedCommand();
  if (memory == nullptr && fd >= 0) close(fd);
  served->memory = memory == nullptr ? -1 : fd;
  served->server = getpid();
  std::snprintf(served->number.data(), served->number.size(), "%d", served->memory);
  return served;
}

// The arguments of a process are not proof. Size, process and descriptor must be right too.
ServedCommand* ServedCommand::TakeUp(const char* number) {
  int fd = -1;
  const char* const end = number + std::strlen(number);
  if (std::from_chars(number, end, fd).ptr != end) return nullptr;
  struct stat info {};
  if (fstat(fd, &info) != 0 || info.st_size != sizeof(ServedCommand)) return nullptr;
  auto* const served = static_cast<ServedCommand*>(Map(fd));
  if (served == nullptr || served->server != getpid() || served->memory != fd) return nullptr;
  fcntl(fd, F_SETFD, FD_CLOEXEC);
  served->handing_over = false;
  return served;
}

namespace {

// Signals that mean a crash, and the argument that tells the new image what it is.
constexpr std::array<int, 7> kCrashes = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT, SIGTRAP, SIGSYS};
constexpr char kAfterCrash[] = "after-crash";
// How often a condition is polled in a signal handler, and how long telling the crash may take.
constexpr int kHandlerLookMilliseconds = 1;
constexpr int kPatienceToTellMilliseconds = 1000;

// A signal handler has no argument for its data, so this is static.
std::atomic<ServedCommand*>& Guarded() {
  static auto* const kGuarded = new std::atomic<ServedCommand*>(nullptr);
  return *kGuarded;
}

// kCrashes as a set.
sigset_t Crashes() {
  sigset_t set;
  sigemptyset(&set);
  for (const int signal : kCrashes) sigaddset(&set, signal);
  return set;
}

// Functions from here to SurviveCrashes run in a signal handler with memory that may be damaged. They do only what a
// handler may do.

// Writes a line about the crash to standard error, with what a signal handler may use. Gives up if nobody reads.
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

// Whether the user or a batch system asked this process to end.
bool AnEndIsAskedFor() {
  sigset_t waiting;
  sigpending(&waiting);
  for (const int signal : {SIGINT, SIGQUIT, SIGTERM, SIGHUP}) {
    if (sigismember(&waiting, signal) == 1) return true;
  }
  return false;
}

// Waits until other threads have written what they read. Their bytes would be lost with them. It stops waiting if the
// reader blocks and somebody asks for an end.
void AwaitHeldBytes(ServedCommand& served) {
  served.handing_over = true;
  for (const ServedChannel& channel : served.channels) {
    while (channel.holder != 0 && !AnEndIsAskedFor()) poll(nullptr, 0, kHandlerLookMilliseconds);
  }
}

// Tells the other threads that this one will write no more.
void LetGo(ServedCommand& served) {
  for (ServedChannel& channel : served.channels) {
    if (channel.holder == gettid()) channel.holder = 0;
  }
}

// Lets a descriptor survive the exec.
void KeepOpen(int fd) {
  if (fd >= 0) fcntl(fd, F_SETFD, 0);
}

// Replaces this process by a new image of the program. Descriptors of the command stay open. Returns only on failure.
// The crash signals are unblocked first, because the new image would inherit the mask of the handler.
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

// The last resort if no new image can start: this thread waits for the command's end and passes on its exit code. The
// copying threads continue meanwhile.
[[noreturn]] void AwaitEnd(ServedCommand& served) {
  served.handing_over = false;
  while (served.exit_code < 0) {
    siginfo_t end{};
    const int waited = waitid(P_PID, static_cast<id_t>(served.pid), &end, WEXITED | WNOWAIT);
    if (waited == 0) served.exit_code = ExitCodeOf(end);
    if (waited != 0 && errno != EINTR) poll(nullptr, 0, kHandlerLookMilliseconds);
  }
  constexpr int kMostLooks = 2000;
  for (int look = 0; look < kMostLooks && !served.over; ++look) poll(nullptr, 0, kHandlerLookMilliseconds);
  _exit(served.exit_code);
}

// Handles a crash in any thread. The first thread hands over; later ones wait for the end.
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
  Tell(signal, "); the command goes on without measuring, limits or a report\n");
  AwaitHeldBytes(*served);
  StartAnew(*served);
  AwaitEnd(*served);
}

}  // namespace

// The handler runs on the alternate stack of its thread, because a full stack is a usual cause of a crash.
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

namespace {

// The exit codes of a shell.
constexpr int kNotFound = 127;
constexpr int kNotStarted = 126;

bool IsDirectory(const std::string& path) {
  struct stat info {};
  return stat(path.c_str(), &info) == 0 && S_ISDIR(info.st_mode);
}

// Explains why a program could not be run, like a shell, and what to do. ENOENT has two meanings: no such file, or a
// script whose interpreter does not exist.
StartFailure Explain(const std::string& name, int error) {
  // The user may have typed NAME=value before the program, as in a shell.
  const std::string shown = WithoutSecrets(name);
  const auto failed = [&](const std::string& why, int code) { return StartFailure{{shown + ": " + why}, code}; };
  const bool is_path = name.find('/') != std::string::npos;
  if (is_path && IsDirectory(name)) return failed("is a directory; name the program in it", kNotStarted);
  if (error == ENOENT && is_path && access(name.c_str(), F_OK) == 0) {
    return failed("the interpreter in its first line does not exist; correct that line", kNotStarted);
  }
  if (error == ENOENT && !is_path) return failed("command not found; check its name and PATH", kNotFound);
  if (error == ENOENT || error == ENOTDIR) return failed("no such file; check the path", kNotFound);
  if (error == EACCES) {
    const std::string advice = is_path ? "; make it executable (chmod +x) or name its interpreter" : "";
    return failed("no permission to execute it: " + std::string(std::strerror(error)) + advice, kNotStarted);
  }
  return failed("cannot be started: " + std::string(std::strerror(error)), kNotStarted);
}

// The NAME=value texts of the environment. `added` replaces equal names.
std::vector<std::string> MergedEnvironment(const std::vector<std::pair<std::string, std::string>>& added) {
  std::vector<std::string> merged;
  for (char** at = environ; *at != nullptr; ++at) {
    const std::string text = *at;
    const std::string name = text.substr(0, text.find('='));
    const bool replaced = std::any_of(added.begin(), added.end(), [&](const auto& a) { return a.first == name; });
    if (!replaced) merged.push_back(text);
  }
  for (const auto& [name, value] : added) merged.push_back(name + "=" + value);
  return merged;
}

// The texts as exec wants them: pointers with a null at the end. They are valid while `texts` is unchanged.
std::vector<char*> Pointers(std::vector<std::string>& texts) {
  std::vector<char*> pointers;
  for (std::string& text : texts) pointers.push_back(text.data());
  pointers.push_back(nullptr);
  return pointers;
}

// What the child was doing when it failed. It comes through a pipe, with the error.
enum class Stage : std::uint8_t { kCpus, kGroup, kFolder, kProgram };
struct ChildReport {
  Stage stage = Stage::kProgram;
  int error = 0;
};

// Explains what the child reported.
StartFailure Explain(const std::string& name, const ChildReport& report) {
  const std::string why = std::strerror(report.error);
  switch (report.stage) {
    case Stage::kCpus:
      return {{name + ": cannot be bound to fewer CPUs: " + why}, kNotStarted};
    case Stage::kGroup:
      return {{name + ": cannot be put into its control group: " + why}, kNotStarted};
    case Stage::kFolder:
      return {{name + ": its working directory cannot be entered: " + why}, kNotStarted};
    case Stage::kProgram:
      break;
  }
  return Explain(name, report.error);
}

// A CPU set for sched_setaffinity, for any number of CPUs.
std::vector<unsigned long> MaskOf(const std::vector<int>& cpus) {
  constexpr std::size_t kBits = 8 * sizeof(unsigned long);
  std::vector<unsigned long> mask;
  for (const int cpu : cpus) {
    const auto at = static_cast<std::size_t>(cpu);
    if (mask.size() <= at / kBits) mask.resize(at / kBits + 1);
    mask[at / kBits] |= 1UL << at % kBits;
  }
  return mask;
}

// Runs the program in the child. It uses only calls that are safe after a fork. Writes the error to `report` on
// failure.
[[noreturn]] void Become(const SpawnSpec& spec, const std::vector<unsigned long>& cpus, char* const* arguments,
                         char* const* environment, int report) {
  const auto give_up = [report](Stage stage) {
    const ChildReport told{stage, errno};
    const ssize_t ignored = write(report, &told, sizeof told);
    static_cast<void>(ignored);  // nobody is left to tell
    _exit(stage == Stage::kProgram && told.error == ENOENT ? kNotFound : kNotStarted);
  };
  if (spec.told != nullptr) *spec.told = getpid();  // whoever may end us now finds it
  const auto* const set = reinterpret_cast<const cpu_set_t*>(cpus.data());
  if (!cpus.empty() && sched_setaffinity(0, cpus.size() * sizeof(unsigned long), set) != 0) give_up(Stage::kCpus);
  if (spec.confinement.group >= 0 && write(spec.confinement.group, "0", 1) != 1) give_up(Stage::kGroup);
  if (!spec.folder.empty() && chdir(spec.folder.c_str()) != 0) give_up(Stage::kFolder);
  if (spec.out >= 0) dup2(spec.out, STDOUT_FILENO);
  if (spec.err >= 0) dup2(spec.err, STDERR_FILENO);
  signal(SIGCHLD, spec.ignores_child_signal ? SIG_IGN : SIG_DFL);
  sigprocmask(SIG_SETMASK, &spec.mask, nullptr);
  execvpe(arguments[0], arguments, environment);
  give_up(Stage::kProgram);
  _exit(kNotStarted);
}

}  // namespace

tl::expected<pid_t, StartFailure> Spawn(const SpawnSpec& spec) {
  std::vector<std::string> command = spec.command;
  std::vector<std::string> environment = MergedEnvironment(spec.environment);
  const std::vector<char*> arguments = Pointers(command);
  const std::vector<char*> variables = Pointers(environment);
  const std::vector<unsigned long> cpus = MaskOf(spec.confinement.cpus);
  // A successful exec closes this pipe, so an end without data means success. Without a free descriptor for it, the
  // exit code tells as much as a shell's.
  int report[2] = {-1, -1};
  if (pipe2(report, O_CLOEXEC) != 0) report[0] = report[1] = -1;
  const pid_t pid = fork();
  if (pid == 0) Become(spec, cpus, arguments.data(), variables.data(), report[1]);
  ChildReport told{Stage::kProgram, pid < 0 ? errno : 0};
  if (report[1] >= 0) close(report[1]);
  if (pid > 0 && report[0] >= 0) {
    ssize_t got = 0;
    do got = read(report[0], &told, sizeof told);
    while (got < 0 && errno == EINTR);
    if (got != sizeof told) told.error = 0;
    if (told.error != 0) waitpid(pid, nullptr, 0);
  }
  if (report[0] >= 0) close(report[0]);
  if (told.error != 0) return tl::unexpected<StartFailure>(Explain(command[0], told));
  return pid;
}

}  // namespace idleburn
