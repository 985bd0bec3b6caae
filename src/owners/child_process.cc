#include "owners/child_process.h"

#include <fcntl.h>
#include <poll.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <string_view>

#include "os/held_signals.h"
#include "text/figures.h"
#include "text/number.h"
#include "text/strings.h"

// The scheduler's tools may hang for as long as their server does. So a child runs in a process group of its own, and
// the whole group is killed when the time is over.

namespace idleburn {
namespace {

constexpr std::size_t kMostComplaint = 4096;  // bytes kept of standard error

// A pipe that closes itself. Both ends close on exec; the child gets copies.
struct ChildPipe {
  std::array<int, 2> ends = {-1, -1};
  ChildPipe() {
    if (pipe2(ends.data(), O_CLOEXEC) != 0) ends = {-1, -1};
  }
  ~ChildPipe() {
    CloseEnd(0);
    CloseEnd(1);
  }
  ChildPipe(const ChildPipe&) = delete;
  ChildPipe& operator=(const ChildPipe&) = delete;
  void CloseEnd(std::size_t end) {
    if (ends[end] >= 0) close(ends[end]);
    ends[end] = -1;
  }
  [[nodiscard]] bool open() const { return ends[0] >= 0; }
};

// The environment of the child: ours, with messages in English.
std::vector<std::string> EnvironmentOfTool() {
  std::vector<std::string> lines;
  for (char** entry = environ; entry != nullptr && *entry != nullptr; ++entry) {
    if (!std::string_view(*entry).starts_with("LC_ALL=")) lines.emplace_back(*entry);
  }
  lines.emplace_back("LC_ALL=C");
  return lines;
}

std::vector<char*> Pointers(std::vector<std::string>& words) {
  std::vector<char*> list;
  for (std::string& word : words) list.push_back(word.data());
  list.push_back(nullptr);
  return list;
}

// Starts the tool; returns 0 or the error number.
int StartTool(std::vector<std::string> command, const ChildPipe& out, const ChildPipe& err, pid_t* pid) {
  posix_spawn_file_actions_t actions;
  posix_spawnattr_t attributes;
  posix_spawn_file_actions_init(&actions);
  posix_spawnattr_init(&attributes);
  posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
  posix_spawn_file_actions_adddup2(&actions, out.ends[1], STDOUT_FILENO);
  posix_spawn_file_actions_adddup2(&actions, err.ends[1], STDERR_FILENO);
  sigset_t none;
  sigset_t all;
  sigemptyset(&none);
  sigfillset(&all);
  posix_spawnattr_setsigmask(&attributes, &none);
  posix_spawnattr_setsigdefault(&attributes, &all);
  posix_spawnattr_setpgroup(&attributes, 0);
  constexpr int kFlags = POSIX_SPAWN_SETPGROUP | POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF;
  posix_spawnattr_setflags(&attributes, static_cast<short>(kFlags));
  std::vector<std::string> environment = EnvironmentOfTool();
  const int fault = posix_spawnp(pid, command[0].c_str(), &actions, &attributes, Pointers(command).data(),
                                 Pointers(environment).data());
  posix_spawnattr_destroy(&attributes);
  posix_spawn_file_actions_destroy(&actions);
  return fault;
}

// Reads what is there. False at the end of the stream.
bool Drain(int fd, std::string& to, std::size_t most) {
  std::array<char, 65536> block{};
  const ssize_t got = read(fd, block.data(), block.size());
  if (got < 0) return errno == EINTR || errno == EAGAIN;
  if (got == 0) return false;
  const std::size_t room = most - std::min(most, to.size());
  to.append(block.data(), std::min(static_cast<std::size_t>(got), room));
  return true;
}

// Copies both streams until they end. False if the time is over or the output is too long.
bool Collect(ChildPipe& out, ChildPipe& err, Nanos deadline, std::size_t most, std::string& text,
             std::string& complaint) {
  while (out.ends[0] >= 0 || err.ends[0] >= 0) {
    std::array<pollfd, 2> wait = {{{out.ends[0], POLLIN, 0}, {err.ends[0], POLLIN, 0}}};
    const int left = MillisecondsUntil(deadline);
    if (left == 0) return false;
    if (poll(wait.data(), wait.size(), left) < 0 && errno != EINTR) return false;
    if (wait[0].revents != 0 && !Drain(out.ends[0], text, most + 1)) out.CloseEnd(0);
    if (wait[1].revents != 0 && !Drain(err.ends[0], complaint, kMostComplaint)) err.CloseEnd(0);
    if (text.size() > most) return false;
  }
  return true;
}

// Waits for the child until the deadline, then kills its group. The status of waitpid.
int Reap(pid_t pid, Nanos deadline, bool* killed) {
  int status = 0;
  constexpr timespec kPause = {0, 2'000'000};
  while (true) {
    const pid_t got = waitpid(pid, &status, *killed ? 0 : WNOHANG);
    if (got == pid || (got < 0 && errno != EINTR)) return status;
    if (MonotonicNow() >= deadline && !*killed) {
      kill(-pid, SIGKILL);
      *killed = true;
    }
    if (!*killed) nanosleep(&kPause, nullptr);
  }
}

std::string FirstLine(const std::string& text) {
  const std::string_view line = Trim(std::string_view(text).substr(0, text.find('\n')));
  return line.empty() ? "" : ": " + Printable(line.substr(0, 160));
}

}  // namespace

Result<std::string> OutputOf(const std::vector<std::string>& command, Nanos timeout, std::size_t most) {
  CHECK(!command.empty());
  const std::string name = command[0].substr(command[0].rfind('/') + 1);
  ChildPipe out;
  ChildPipe err;
  if (!out.open() || !err.open()) return Fail(name + " was not started: no pipe (" + std::strerror(errno) + ")");
  pid_t pid = 0;
  const int fault = StartTool(command, out, err, &pid);
  if (fault != 0) return Fail(name + " was not started: " + std::strerror(fault));
  out.CloseEnd(1);
  err.CloseEnd(1);
  const Nanos deadline = MonotonicNow() + timeout;
  std::string text;
  std::string complaint;
  const bool read = Collect(out, err, deadline, most, text, complaint);
  bool killed = !read;
  if (killed) kill(-pid, SIGKILL);
  const int status = Reap(pid, deadline, &killed);
  if (text.size() > most) return Fail(name + " wrote more than " + std::to_string(most >> 20) + " MiB");
  if (killed) return Fail(name + " gave no answer within " + DurationForPeople(timeout));
  if (WIFSIGNALED(status)) return Fail(name + " was killed by signal " + std::to_string(WTERMSIG(status)));
  if (WEXITSTATUS(status) != 0) {
    return Fail(name + " ended with " + std::to_string(WEXITSTATUS(status)) + FirstLine(complaint));
  }
  return text;
}

bool IsProgram(const std::string& name) {
  if (name.find('/') != std::string::npos) return access(name.c_str(), X_OK) == 0;
  const char* path = std::getenv("PATH");
  if (name.empty() || path == nullptr) return false;
  for (const std::string_view folder : Split(path, ':')) {
    if (!folder.empty() && access((std::string(folder) + "/" + name).c_str(), X_OK) == 0) return true;
  }
  return false;
}

}  // namespace idleburn
