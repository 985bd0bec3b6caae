#pragma once

#include <sys/resource.h>
#include <sys/types.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "base/time.h"
#include "measure/proc_files.h"
#include "os/kept_file.h"

namespace idleburn {

// What ended processes used, with the children they had waited for. The kernel reports it once, to whoever waits for
// them.
struct UsedByProcesses {
  std::int64_t cpu_ns = 0;
  std::int64_t major_faults = 0;
  std::int64_t read_bytes = 0;   // read from storage
  std::int64_t write_bytes = 0;  // written to storage
};

// Carries these sums from the thread that waits for processes (run/workload.cc) to the sampling thread. The kernel
// forgets a process once it was waited for. So only this knows what the process used after the last look at /proc.
class ReapedUsage {
 public:
  // Adds what wait4 reports of an ended process.
  void Add(const rusage& used) {
    const std::scoped_lock lock(mutex_);
    total_.cpu_ns += Nanoseconds(used.ru_utime) + Nanoseconds(used.ru_stime);
    total_.major_faults += used.ru_majflt;
    total_.read_bytes += std::int64_t{used.ru_inblock} * kBlock;
    total_.write_bytes += std::int64_t{used.ru_oublock} * kBlock;
  }
  [[nodiscard]] UsedByProcesses total() const {
    const std::scoped_lock lock(mutex_);
    return total_;
  }

 private:
  static constexpr std::int64_t kBlock = 512;  // the unit of ru_inblock and ru_oublock on Linux
  static std::int64_t Nanoseconds(const timeval& t) {
    return std::int64_t{t.tv_sec} * 1'000'000'000 + std::int64_t{t.tv_usec} * 1000;
  }

  mutable std::mutex mutex_;
  UsedByProcesses total_;
};

// The last reading of a process of a workload, for WorkerSums.
struct ProcessReading {
  pid_t pid = 0;
  pid_t parent = 0;
  std::size_t command = 0;  // a hash of the command line; 0: not known
  Instant at;
  std::int64_t cpu = 0;      // nanoseconds on a CPU; this and the next two only rise
  std::int64_t wait = 0;     // nanoseconds ready to run, but waiting for a CPU
  std::int64_t blocked = 0;  // nanoseconds in state D
};

// What the workers of a workload did, as sums that only rise. A worker is a forked process with the command line of
// its parent and without such a process below it. Data loaders start workers. The program that drives the GPU is
// none, and neither is a launcher of several.
//
// Example: python (pid 1) forks two python loaders with the same command line (pids 2 and 3). 2 and 3 are workers, 1
// is none. If torchrun starts python, the command lines differ and python is none either.
//
// Wrong where loaders are threads, or where they start anew instead of forking ("spawn"): their command line differs.
class WorkerSums {
 public:
  // Nanoseconds, added over all workers.
  struct Times {
    std::int64_t alive = 0;
    std::int64_t cpu = 0;
    std::int64_t wait = 0;
    std::int64_t blocked = 0;
  };

  // Takes the readings of all processes that exist now. Adds what each worker did since the last update that had it.
  void Update(std::span<const ProcessReading> processes);
  [[nodiscard]] const Times& times() const { return times_; }

 private:
  std::map<pid_t, ProcessReading> workers_;  // readings of the last update
  Times times_;
};

// Defines which processes belong to a workload. docs/host-signals.md describes the rules.
struct ProcessTreeSpec {
  std::string proc = "/proc";
  pid_t root = 0;                             // the workload's first process
  pid_t adopter = 0;                          // the subreaper, which becomes the parent of orphans; 0: none
  std::vector<pid_t> not_ours;                // children of the adopter that do not belong to the workload
  std::string run_id;                         // a process with this IDLEBURN_RUN_ID belongs too; empty: not checked
  std::shared_ptr<const ReapedUsage> reaped;  // what the adopter waited for; null: not known
  std::int64_t nanos_per_tick = 10'000'000;   // the unit of times in /proc
};

// The processes of one workload: its root, descendants, orphans, and sessions that they lead. It looks for new
// processes once a second. It sums what they use together; the sums only rise. A control group of its own would count
// the same, but creating one needs rights that most users lack.
//
// The difficulty is a process that ends. When its parent waits for it, the kernel adds its use to the parent, in
// /proc/PID/stat (times, faults) and /proc/PID/io. So this sum counts everything once, also processes never seen:
//
//     sum over living processes of (own + waited for)  +  what the adopter waited for
//
// It would count twice if a parent were read after a child's end while the child's last reading still counts.
// Therefore a process gets an account when its "waited for" rises or one of its children is gone. While the account
// is open, its children are checked after every rise. The use of gone children is owed to the parent. The part that
// the parent has not risen by yet counts beside it. When a reading shows no further rise, the account closes. The
// rest that is still owed is kept from the last readings: a parent that ignores SIGCHLD gets nothing added.
//
// Example: a child's last reading is 5 s of CPU, and it is gone. The parent rises by 3 s, so 2 s count beside it
// until it rises again or the account closes.
//
// The adopter waits for orphans. Its report comes a little before or after /proc forgets them. So use that is owed
// here is awaited, and a report that nobody awaits yet is credited, for one second.
class ProcessTree {
 public:
  // Kinds of use, in nanoseconds, counts and bytes.
  enum Use : std::uint8_t { kCpu, kMajorFaults, kReadChars, kWriteChars, kReadBytes, kWriteBytes };
  static constexpr std::size_t kUses = 6;
  using Used = std::array<std::int64_t, kUses>;
  // A tick judges at most so many new processes and visits at most so many known ones. ReadWaits reads at most so many
  // threads. A workload of a thousand processes must not make ticks long.
  static constexpr std::size_t kMostJudged = 128;
  static constexpr std::size_t kMostVisited = 32;
  static constexpr std::size_t kMostThreads = 512;

  // `files` must outlive the tree. The root is judged at the first tick, without a scan.
  explicit ProcessTree(ProcessTreeSpec spec, OpenFileBudget* files);

  // Lists all processes. The next ticks judge whether new ones belong. Its cost grows with the processes of the
  // machine, so HostLane calls it once a second.
  void Scan();
  // Judges some new processes and reads some known ones, in turn. It reads the bytes of a process only if they are
  // older than `io_age`, provided that its parent is known and will report what is missed at its end.
  void Tick(Instant now, Nanos io_age);
  // Adds up how long threads waited for a CPU, for some of the processes in turn, and what workers did. It reads one
  // file per thread, so it is done once a second.
  void ReadWaits();

  // What the workload used until now, and in nanoseconds how long its threads waited for a CPU, and its processes in
  // state D.
  [[nodiscard]] const Used& used() const { return used_; }
  [[nodiscard]] std::int64_t run_queue_wait() const { return wait_; }
  [[nodiscard]] std::int64_t blocked() const { return blocked_; }
  [[nodiscard]] const WorkerSums::Times& workers() const { return workers_.times(); }
  // Its processes and threads that exist now, zombies excluded, and the memory that processes hold. Shared pages
  // count in each.
  [[nodiscard]] std::int64_t processes() const;
  [[nodiscard]] std::vector<pid_t> pids() const;
  [[nodiscard]] std::int64_t threads() const;
  [[nodiscard]] std::int64_t resident_pages() const;
  [[nodiscard]] bool Has(pid_t pid) const { return known_.contains(pid); }
  // Whether any process was read yet.
  [[nodiscard]] bool seen() const { return seen_; }
  // Whether bytes or waiting times of some process may not be read.
  [[nodiscard]] bool io_denied() const { return io_denied_; }
  [[nodiscard]] bool wait_denied() const { return wait_denied_; }

 private:
  // An open account of a process; see the class.
  struct Account {  // all 0 at first
    Used owed;      // by its descendants that are gone
    Used since;     // what it answered for before any of them was in it
    bool risen;     // and its children were not looked at since
    bool orphans;   // some of that may have been waited for here
  };
  // A process of the workload, with the files that stay open for it.
  struct Process {
    KeptFile stat_file;
    KeptFile io_file;
    KeptFile wait_file;  // of its first thread, mostly the only one
    ProcessStat stat;
    Used used = {};  // itself and what it waited for, as last read
    std::optional<Account> account;
    bool gone = false;  // it is being buried: where pids were given anew, a process can seem its own descendant
    std::optional<Instant> read_at;
    std::optional<Instant> io_read_at;
    std::map<pid_t, std::int64_t> thread_waits;
    std::int64_t blocked = 0;
    std::size_t command = 0;  // see ProcessReading
    int command_reads = 0;
  };
  using Found = std::map<pid_t, Process>;

  // Judges some processes of to_judge_. JudgeSome asks Belongs, and Join takes those that belong.
  void JudgeSome();
  [[nodiscard]] bool Belongs(pid_t pid, const ProcessStat& stat);
  [[nodiscard]] bool HasRunId(pid_t pid);
  void Join(pid_t pid, const ProcessStat& stat);
  // Reads a process and opens its account if it waited for a child. False if it is gone, or another process has its
  // pid.
  bool ReadProcess(Found::iterator at, bool with_io);
  [[nodiscard]] bool IoIsDue(const Process& process) const;
  // The part of a process's readings that comes from children it waited for.
  [[nodiscard]] Used AnsweredBy(const Process& process) const;
  // The account of a process. A closed account is opened at `answered`, what the process answered for before.
  Account& OpenAccount(Found::iterator at, const Used& answered);
  // What a process is owed and has not risen by.
  [[nodiscard]] Used Outstanding(const Process& process) const;
  // Reads a process, and buries it if it is gone.
  void Visit(pid_t pid);
  void LookAtChildren(pid_t parent);
  // Removes a process that is gone. What it used, and what it was still owed, is owed to its parent.
  void Bury(pid_t pid);
  void SettleAccounts();
  void CloseAccount(Found::iterator at);
  // Awaits use from the adopter (sign 1), or credits what the adopter reported (sign -1).
  void Await(const Used& used, int sign);
  void SettleReaped();
  void ReadThreadWaits(pid_t pid, Process* process);
  void ReadCommand(pid_t pid, Process* process);
  void SumWorkers();
  void AddUp();

  ProcessTreeSpec spec_;
  OpenFileBudget* files_;
  Found known_;
  std::vector<pid_t> listed_;       // of the last scan, in order
  std::map<pid_t, bool> to_judge_;  // new ones; true: for the second time
  std::vector<pid_t> look_again_;
  std::map<pid_t, ProcessStat> strangers_;  // judged not to belong in this round
  std::set<pid_t> with_account_;
  pid_t next_visit_ = 0;
  pid_t next_wait_ = 0;
  Used lost_ = {};     // of processes that ended and that no living one answers for
  Used awaited_ = {};  // of those gone that the adopter is about to answer for; below 0: it was told of before
  std::optional<Instant> awaited_since_;
  Used reaped_ = {};
  Used used_ = {};
  std::int64_t wait_ = 0;
  std::int64_t wait_of_ended_ = 0;
  std::int64_t blocked_ = 0;
  WorkerSums workers_;
  Instant now_;
  Nanos io_age_{0};
  bool seen_ = false;
  bool io_denied_ = false;
  bool wait_denied_ = false;
  std::string buffer_;
};

}  // namespace idleburn
