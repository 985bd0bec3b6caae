#include "audit/recorded_process.h"

#include <unistd.h>

#include <limits>
#include <string_view>

#include "audit/live_flags.h"
#include "measure/proc_files.h"
#include "os/kept_file.h"
#include "text/number.h"

namespace idleburn {
namespace {

std::string FileOf(pid_t pid, const std::string& name) { return "/proc/" + std::to_string(pid) + "/" + name; }

}  // namespace

Result<std::optional<RecordedProcess>> RecordedProcess::Named(const std::string& text) {
  if (text.empty()) return std::optional<RecordedProcess>();
  const std::optional<std::int64_t> pid = ParseInteger(text);
  if (!pid || *pid <= 0 || *pid > std::numeric_limits<pid_t>::max()) {
    return FailUsage("--pid: " + text + " is no process id; name the number that ps shows");
  }
  const std::optional<std::int64_t> start = RunningSince("/proc", *pid);
  if (!start) return Fail("--pid: no process " + text + " runs here; ps shows those that do");
  return std::optional(RecordedProcess(static_cast<pid_t>(*pid), *start));
}

bool RecordedProcess::Runs() const { return RunningSince("/proc", pid_) == start_ticks_; }

VariableLookup RecordedProcess::Variables() const {
  if (pid_ == getppid()) return OwnVariable;
  return [environment = '\0' + FileText(FileOf(pid_, "environ")) + '\0'](std::string_view name) {
    const std::string begin = '\0' + std::string(name) + '=';
    const std::size_t at = environment.find(begin);
    if (at == std::string::npos) return std::optional<std::string>();
    const std::size_t value = at + begin.size();
    return std::optional(environment.substr(value, environment.find('\0', value) - value));
  };
}

}  // namespace idleburn
