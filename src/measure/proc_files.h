#pragma once

#include <sys/types.h>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace idleburn {

// Reads /proc and cgroup files. The parsers take text, so that tests and the fuzzer need no files. Text of an
// unexpected form gives an absent value: kernels differ, and a container may show less than a machine. proc(5)
// documents the files.

// The size of a sector, in which /proc/diskstats and /sys/block/*/size count, whatever the size of the disk's own.
inline constexpr std::int64_t kSectorBytes = 512;

// The words of a text, separated by blanks.
class Words {
 public:
  explicit Words(std::string_view text) : text_(text) {}
  // The next word; empty at the end.
  std::string_view Next();
  // The next word as a number. Absent if it is no number without a sign.
  std::optional<std::int64_t> NextNumber();
  void Skip(int words);

 private:
  std::string_view text_;
};
// Removes the first line from `text` and returns it without its end.
std::string_view TakeLine(std::string_view* text);
// A number without a sign, up to 2^62. Larger ones are not credible, and sums of smaller ones do not overflow.
std::optional<std::int64_t> NumberOf(std::string_view word);

// /proc/PID/stat. Times are in clock ticks, usually of 10 ms.
struct ProcessStat {
  char state = '?';
  std::int32_t parent = 0;
  std::int32_t session = 0;
  std::int64_t major_faults = 0;
  std::int64_t waited_faults = 0;  // major and minor faults of children it waited for
  std::int64_t waited_major_faults = 0;
  std::int64_t cpu_ticks = 0;         // its own CPU time, ended threads included
  std::int64_t waited_cpu_ticks = 0;  // CPU time of children it waited for
  std::int64_t threads = 0;
  std::int64_t start_ticks = 0;  // since boot; pid and start together identify a process
  std::int64_t resident_pages = 0;
};
// Absent if any field up to the 24th is missing or no number.
std::optional<ProcessStat> ParseProcessStat(std::string_view text);

// /proc/PID/io, in bytes. Chars are bytes of all reads and writes; the others are bytes of storage, without what came
// from the page cache. The kernel's counts include the children that the process waited for.
struct ProcessIo {
  std::int64_t read_chars = 0;
  std::int64_t write_chars = 0;
  std::int64_t read_bytes = 0;
  std::int64_t write_bytes = 0;
};
std::optional<ProcessIo> ParseProcessIo(std::string_view text);

// Whether a process has a handler for that signal, from /proc/PID/status. Absent if the text does not say. A process
// without a handler for a signal would be killed by it.
std::optional<bool> CatchesSignal(std::string_view status, int signal);

// The run queue wait in nanoseconds: ready to run, but waiting for a CPU. It is the second number of schedstat.
std::optional<std::int64_t> ParseRunQueueWait(std::string_view text);

// The total of the line "some" or "full" of a pressure file, in nanoseconds. "some avg10=0.00 ... total=12" gives
// 12,000, because the file counts microseconds.
std::optional<std::int64_t> ParsePressure(std::string_view text, std::string_view line);

// The value after `key` at the start of a line. Keys are "MemTotal:", "pgmajfault", "throttled_usec", for example. It
// is in the file's unit: /proc/meminfo counts KiB.
std::optional<std::int64_t> ValueOfKey(std::string_view text, std::string_view key);

// CPU time of the machine, from /proc/stat. Waiting for storage (iowait) is idle time of a CPU.
struct MachineCpu {
  std::int64_t busy_ticks = 0;  // user, nice, system, irq, softirq; guests are in user
  std::int64_t cpus = 0;        // online
};
std::optional<MachineCpu> ParseMachineCpu(std::string_view text);

// Bytes read and written, or received and sent. Each byte counts once. Disk counts leave out partitions and devices
// stacked on others (RAID, LVM). Network counts leave out virtual devices that pass on to others.
struct ByteCounts {
  std::int64_t in = 0;
  std::int64_t out = 0;
};
// /proc/diskstats.
ByteCounts ParseDiskstats(std::string_view text);
// /proc/net/dev.
ByteCounts ParseNetDev(std::string_view text);
// io.stat of cgroup version 2.
ByteCounts ParseIoStat(std::string_view text);
// blkio.throttle.io_service_bytes of cgroup version 1.
ByteCounts ParseBlkioBytes(std::string_view text);

// The number of entries of a list: "0-3,8" has 5.
std::optional<std::int64_t> CountOfList(std::string_view list);

// When a process started, in clock ticks since boot. The kernel reuses pids, so only pid and start together identify a
// process. Absent if the process ended, is hidden, or is in another pid namespace. `proc` is "/proc".
std::optional<std::int64_t> StartTicksOf(const std::string& proc, std::int64_t pid);
// When a running process started. Absent for a zombie too, because it has ended.
std::optional<std::int64_t> RunningSince(const std::string& proc, std::int64_t pid);

// Who a process is, for people. `top` shows it beside the memory that a process holds.
struct ProcessIdentity {
  std::string name;                   // the kernel's name, at most 15 bytes
  std::optional<std::uint32_t> user;  // the id of its user
  std::vector<std::string> command;   // its arguments; empty for a kernel thread or an ending process
};
// Identifies the process with that pid and start. Absent if it ended, even if another process has its pid. The
// sampler's thread must not call it: the arguments are in the process's memory, and reading them waits if it hangs in a
// driver.
std::optional<ProcessIdentity> IdentityOf(const std::string& proc, std::int64_t pid, std::int64_t start_ticks);

// All descendants of `root` that /proc shows now, zombies excluded. Processes that start or end meanwhile may be
// missed.
std::vector<pid_t> DescendantsOf(pid_t root, const std::string& proc = "/proc");

// The login name of a user. Absent if there is none with that id. It may wait for a network directory.
std::optional<std::string> UserName(std::uint32_t id);

}  // namespace idleburn
