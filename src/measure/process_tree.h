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

// What processes used that ended and were waited for, themselves and those they had waited for: sums.
struct UsedByProcesses {
  std::int64_t cpu_ns = 0;
  std::int64_t major_faults = 0;
  std::int64_t read_bytes = 0;   // from storage
  std::int64_t write_bytes = 0;  // to storage
};

// Carries those sums from the thread that waits for processes to the one that samples. The kernel forgets a process
// once it is waited for, so what it used after the last look at /proc is known only here.
class ReapedUsage {
 public:
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

// A process of a workload as it was last read.
struct ProcessReading {
  pid_t pid = 0;
  pid_t parent = 0;
  std::size_t command = 0;  // tells command lines apart; 0: not known
  Instant at;
  std::int64_t cpu = 0;  // nanoseconds on a CPU, ready but waiting for one, and in state D: each only rises
  std::int64_t wait = 0;
  std::int64_t blocked = 0;
};

// What a workload's workers did, as sums that only rise. A worker is a process forked without starting another program,
// so that it has the command line of its parent, with no such process below it: what data loaders start, and what the
// program that drives the GPU, or a launcher of several, is not.
class WorkerSums {
 public:
  // Nanoseconds of all workers together.
  struct Times {
    std::int64_t alive = 0;
    std::int64_t cpu = 0;
    std::int64_t wait = 0;
    std::int64_t blocked = 0;
  };

  // All processes that there are now.
  void Update(std::span<const ProcessReading> processes);
  [[nodiscard]] const Times& times() const { return times_; }

 private:
  std::map<pid_t, ProcessReading> workers_;  // as of the last update
  Times times_;
};

// Which processes belong to a workload.
struct ProcessTreeSpec {
  std::string proc = "/proc";
  pid_t root = 0;               // the workload's first process
  pid_t adopter = 0;            // becomes the parent of its orphans (the subreaper); 0: nobody in particular
  std::vector<pid_t> not_ours;  // children of the adopter that are no part of it
  std::string run_id;           // belongs whoever was started with IDLEBURN_RUN_ID of this value; empty: not asked
  std::shared_ptr<const ReapedUsage> reaped;  // of what the adopter waits for; null: not known
  std::int64_t nanos_per_tick = 10'000'000;   // the unit of times in /proc
};

// The processes of one workload: its root, their children, orphans, and sessions of their own, found by looking at
// new processes once a second; what they use together, as sums that only rise.
//
// How the sums stay right when processes end. The kernel adds what a process used to its parent when that waits for
// it, in /proc/PID/stat (times, faults) and /proc/PID/io. So
//
//     sum over living processes of (own + waited for)  +  what was waited for here
//
// counts everything once, processes never seen included, as long as no parent is read after a child's end while the
// child's last reading still counts. Therefore a process gets an account when its "waited for" rises or a child of it
// is gone. While it is open its children are looked at again after every rise; those that are gone are owed to it, and
// what it has not risen by since counts beside it. Once it is read and has not risen any more, the account is closed:
// what is still owed then (a parent that ignores SIGCHLD gets nothing added) is kept from the last readings.
//
// Orphans are waited for here, which is told a little later or sooner than they are seen to be gone: what is owed here
// is awaited, and what is told unawaited is credited, for a second.
class ProcessTree {
 public:
  // What a group of processes used: nanoseconds, counts, bytes.
  enum Use : std::uint8_t { kCpu, kMajorFaults, kReadChars, kWriteChars, kReadBytes, kWriteBytes };
  static constexpr std::size_t kUses = 6;
  using Used = std::array<std::int64_t, kUses>;
  // A tick looks at no more new and known processes than this, and ReadWaits at no more threads, so that a thousand
  // processes at once make neither longer than a few dozen do.
  static constexpr std::size_t kMostJudged = 128;
  static constexpr std::size_t kMostVisited = 32;
  static constexpr std::size_t kMostThreads = 512;

  explicit ProcessTree(ProcessTreeSpec spec, OpenFileBudget* files);

  // Looks at the list of all processes; new ones are judged by the next calls of Judge.
  void Scan();
  // Judges some of the new ones and reads some of the known ones, all in turns. What a process read and wrote is looked
  // at only if the last look is `io_age` ago, where its parent is known too and would tell what is missed of its end.
  void Tick(Instant now, Nanos io_age);
  // Adds up the time that threads waited for a CPU, of some of the processes, in turns; and what workers did.
  void ReadWaits();

  [[nodiscard]] const Used& used() const { return used_; }
  [[nodiscard]] std::int64_t run_queue_wait() const { return wait_; }
  [[nodiscard]] std::int64_t blocked() const { return blocked_; }
  [[nodiscard]] const WorkerSums::Times& workers() const { return workers_.times(); }
  [[nodiscard]] std::int64_t processes() const;
  [[nodiscard]] std::vector<pid_t> pids() const;
  [[nodiscard]] std::int64_t threads() const;
  [[nodiscard]] std::int64_t resident_pages() const;
  [[nodiscard]] bool Has(pid_t pid) const { return known_.contains(pid); }
  // Whether anything was read of it yet, and what may not be read of some process of it.
  [[nodiscard]] bool seen() const { return seen_; }
  [[nodiscard]] bool io_denied() const { return io_denied_; }
  [[nodiscard]] bool wait_denied() const { return wait_denied_; }

 private:
  struct Account {  // all 0 at first
    Used owed;      // by its descendants that are gone
    Used since;     // what it answered for before any of them was in it
    bool risen;     // and its children were not looked at since
    bool orphans;   // some of that may have been waited for here
  };
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

  void JudgeSome();
  [[nodiscard]] bool Belongs(pid_t pid, const ProcessStat& stat);
  [[nodiscard]] bool HasRunId(pid_t pid);
  void Join(pid_t pid, const ProcessStat& stat);
  // False if it is gone, or another process has its pid.
  bool ReadProcess(Found::iterator at, bool with_io);
  [[nodiscard]] bool IoIsDue(const Process& process) const;
  // What of the readings of a process is of those it waited for.
  [[nodiscard]] Used AnsweredBy(const Process& process) const;
  // Its account, which is opened, if it was closed, at what it answered for before.
  Account& OpenAccount(Found::iterator at, const Used& answered);
  // What it is owed and has not risen by.
  [[nodiscard]] Used Outstanding(const Process& process) const;
  void Visit(pid_t pid);
  void LookAtChildren(pid_t parent);
  // It is gone: what it used, and what it was still owed, is owed to its parent.
  void Bury(pid_t pid);
  void SettleAccounts();
  void CloseAccount(Found::iterator at);
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
