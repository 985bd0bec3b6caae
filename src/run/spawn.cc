#include "run/spawn.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

namespace idleburn {
namespace {

constexpr int kNotFound = 127;
constexpr int kNotStarted = 126;

bool IsDirectory(const std::string& path) {
  struct stat info {};
  return stat(path.c_str(), &info) == 0 && S_ISDIR(info.st_mode);
}

StartFailure Explain(const std::string& name, int error) {
  const auto failed = [&](const std::string& why, int code) { return StartFailure{{name + ": " + why}, code}; };
  const bool is_path = name.find('/') != std::string::npos;
  if (is_path && IsDirectory(name)) return failed("is a directory; name the program in it", kNotStarted);
  if (error == ENOENT && is_path && access(name.c_str(), F_OK) == 0) {
    return failed("its interpreter, named in its first line, is not there; correct that line", kNotStarted);
  }
  if (error == ENOENT && !is_path) return failed("command not found; check its name and PATH", kNotFound);
  if (error == ENOENT || error == ENOTDIR) return failed("no such file; check the path", kNotFound);
  if (error == EACCES) {
    const std::string advice = is_path ? "; make it executable (chmod +x) or name its interpreter" : "";
    return failed("may not be executed: " + std::string(std::strerror(error)) + advice, kNotStarted);
  }
  return failed("cannot be started: " + std::string(std::strerror(error)), kNotStarted);
}

// NAME=value texts: ours, with `added` in place of equal names.
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

std::vector<char*> Pointers(std::vector<std::string>& texts) {
  std::vector<char*> pointers;
  for (std::string& text : texts) pointers.push_back(text.data());
  pointers.push_back(nullptr);
  return pointers;
}

// In the child: only calls that are safe after a fork. Tells `report` the error if the program cannot be run.
[[noreturn]] void Become(const SpawnSpec& spec, char* const* arguments, char* const* environment, int report) {
  if (spec.out >= 0) dup2(spec.out, STDOUT_FILENO);
  if (spec.err >= 0) dup2(spec.err, STDERR_FILENO);
  signal(SIGCHLD, spec.ignores_child_signal ? SIG_IGN : SIG_DFL);
  sigprocmask(SIG_SETMASK, &spec.mask, nullptr);
  execvpe(arguments[0], arguments, environment);
  const int error = errno;
  const ssize_t ignored = write(report, &error, sizeof error);
  static_cast<void>(ignored);  // nobody is left to tell
  _exit(kNotStarted);
}

}  // namespace

tl::expected<pid_t, StartFailure> Spawn(const SpawnSpec& spec) {
  std::vector<std::string> command = spec.command;
  std::vector<std::string> environment = MergedEnvironment(spec.environment);
  const std::vector<char*> arguments = Pointers(command);
  const std::vector<char*> variables = Pointers(environment);
  // Closed by a successful exec: an end without a word is the good news.
  int report[2];
  if (pipe2(report, O_CLOEXEC) != 0) return tl::unexpected<StartFailure>(Explain(command[0], errno));
  const pid_t pid = fork();
  if (pid == 0) Become(spec, arguments.data(), variables.data(), report[1]);
  int error = pid < 0 ? errno : 0;
  close(report[1]);
  if (pid > 0) {
    ssize_t got = 0;
    do got = read(report[0], &error, sizeof error);
    while (got < 0 && errno == EINTR);
    if (got != sizeof error) error = 0;
    if (error != 0) waitpid(pid, nullptr, 0);
  }
  close(report[0]);
  if (error != 0) return tl::unexpected<StartFailure>(Explain(command[0], error));
  return pid;
}

}  // namespace idleburn
