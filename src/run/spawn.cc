#include "run/spawn.h"

#include <fcntl.h>
#include <sched.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "text/secrets.h"

namespace idleburn {
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
