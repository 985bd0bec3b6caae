#pragma once

#include <sys/types.h>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace idleburn {

// The texts of /proc and cgroup files as values. Pure; what is not of the expected form is absent.

// One word after the other, apart by blanks; empty at the end.
class Words {
 public:
  explicit Words(std::string_view text) : text_(text) {}
  std::string_view Next();
  // Absent where the next word is no number without a sign.
  std::optional<std::int64_t> NextNumber();
  void Skip(int words);

 private:
  std::string_view text_;
};
// Takes the first line off `text`.
std::string_view TakeLine(std::string_view* text);
std::optional<std::int64_t> NumberOf(std::string_view word);

// /proc/PID/stat. Times are in clock ticks.
struct ProcessStat {
  char state = '?';
  std::int32_t parent = 0;
  std::int32_t session = 0;
  std::int64_t major_faults = 0;
  std::int64_t waited_faults = 0;  // major and minor ones of the processes it has waited for
  std::int64_t waited_major_faults = 0;
  std::int64_t cpu_ticks = 0;         // its own, threads that ended included
  std::int64_t waited_cpu_ticks = 0;  // of the processes it has waited for
  std::int64_t threads = 0;
  std::int64_t start_ticks = 0;  // since boot; with the pid it names the process
  std::int64_t resident_pages = 0;
};
std::optional<ProcessStat> ParseProcessStat(std::string_view text);

// /proc/PID/io. What the kernel counts for a process includes what it has waited for.
struct ProcessIo {
  std::int64_t read_chars = 0;
  std::int64_t write_chars = 0;
  std::int64_t read_bytes = 0;
  std::int64_t write_bytes = 0;
};
std::optional<ProcessIo> ParseProcessIo(std::string_view text);

// Whether a process has a handler of its own for that signal, by /proc/PID/status; absent where that does not say.
std::optional<bool> CatchesSignal(std::string_view status, int signal);

// The second number of schedstat: nanoseconds ready to run but waiting.
std::optional<std::int64_t> ParseRunQueueWait(std::string_view text);

// total= of the line "some" or "full" of a pressure file, in nanoseconds.
std::optional<std::int64_t> ParsePressure(std::string_view text, std::string_view line);

// The value after `key` at the start of a line ("MemTotal:", "pgmajfault", "throttled_usec").
std::optional<std::int64_t> ValueOfKey(std::string_view text, std::string_view key);

// /proc/stat.
struct MachineCpu {
  std::int64_t busy_ticks = 0;  // user, nice, system, irq, softirq; guests are in user
  std::int64_t cpus = 0;        // online
};
std::optional<MachineCpu> ParseMachineCpu(std::string_view text);

// Bytes of /proc/diskstats (read, written) and /proc/net/dev (received, sent), each byte once: whole disks without
// what is stacked on them, network devices without the virtual ones that pass on to others.
struct ByteCounts {
  std::int64_t in = 0;
  std::int64_t out = 0;
};
ByteCounts ParseDiskstats(std::string_view text);
ByteCounts ParseNetDev(std::string_view text);
// io.stat of cgroup v2, and blkio.throttle.io_service_bytes of v1.
ByteCounts ParseIoStat(std::string_view text);
ByteCounts ParseBlkioBytes(std::string_view text);

// How many numbers a list such as "0-3,8" holds.
std::optional<std::int64_t> CountOfList(std::string_view list);

// When the process of that pid started, in clock ticks since boot: with the pid it names the process, as pids are
// given anew. Absent: none is seen, because it has ended, is hidden, or is of another pid namespace. `proc` is /proc.
std::optional<std::int64_t> StartTicksOf(const std::string& proc, std::int64_t pid);
// The same of one that runs: absent also where it has ended, and its parent has not asked how.
std::optional<std::int64_t> RunningSince(const std::string& proc, std::int64_t pid);

// Who a process is.
struct ProcessIdentity {
  std::string name;                   // the kernel's, 15 bytes at most
  std::optional<std::uint32_t> user;  // the id of who started it
  std::vector<std::string> command;   // its arguments; none of a kernel thread, nor of one that is ending
};
// Of the process with that pid that started then; absent if it is gone, whoever has its pid now. Not for the sampler's
// thread: the arguments lie in the process's own memory, and reading them waits for one that is stuck in a driver.
std::optional<ProcessIdentity> IdentityOf(const std::string& proc, std::int64_t pid, std::int64_t start_ticks);

// The processes that `root` has started, and those that they have, as /proc shows them now; those that have ended and
// only wait to be waited for are not among them.
std::vector<pid_t> DescendantsOf(pid_t root, const std::string& proc = "/proc");

// The login name of a user of this machine; absent if there is none of that id. May wait for a network where users are
// kept there.
std::optional<std::string> UserName(std::uint32_t id);

}  // namespace idleburn
