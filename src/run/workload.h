#pragma once

#include <sys/types.h>

#include <array>
#include <atomic>
#include <csignal>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <tl/expected.hpp>
#include <utility>
#include <vector>

#include "base/time.h"
#include "measure/process_tree.h"
#include "run/output_relay.h"
#include "run/served_command.h"

namespace idleburn {

// Tells whether a signal to idleburn was sent to its whole process group, and so to the workload too.
//
//   kill PID        Only idleburn gets it. It must pass the signal on.
//   kill -- -PGID   timeout(1), `kill %1` and batch systems signal the group. The workload has the signal already, and
//                   a second one would interrupt the clean-up that the first began.
//
// A signal does not tell which it was. So a tiny process stays in the group, blocks every signal and counts what it
// receives. If it received a signal too, the signal was sent to the group.
class Witness {
 public:
  // Null if no process can be created. Every signal then counts as sent to idleburn only. Call it while this process
  // has one thread.
  static std::unique_ptr<Witness> Start();
  ~Witness();
  Witness(const Witness&) = delete;
  Witness& operator=(const Witness&) = delete;

  // Whether the witness received a signal that idleburn just received. It waits up to 20 ms for the signal. If the
  // signal is pending there, it waits up to 10 s, because a busy machine may be slow to run the witness.
  bool SawToo(int signal);
  [[nodiscard]] pid_t pid() const { return pid_; }
  // Somebody killed the witness, and it was waited for.
  void Ended() { pid_ = -1; }

 private:
  static constexpr int kPatienceMilliseconds = 20;
  static constexpr int kPendingPatienceMilliseconds = 10'000;
  static constexpr std::size_t kSignals = 65;
  struct Counts {
    std::array<std::atomic<std::uint32_t>, kSignals> received;
  };

  explicit Witness(Counts* counts) : counts_(counts) {}
  [[nodiscard]] bool IsPending(int signal) const;
  [[noreturn]] static void Watch(Counts& counts);

  Counts* counts_;  // shared with the process
  std::array<std::uint32_t, kSignals> known_ = {};
  pid_t pid_ = -1;
};

// How to start a workload. Pointers must be valid until it ended.
struct WorkloadSpec {
  std::vector<std::string> command;                              // not empty
  std::vector<std::pair<std::string, std::string>> environment;  // added to idleburn's own
  OutputWatcher* watcher = nullptr;  // null: the workload inherits standard output and error
  ReapedUsage* reaped = nullptr;     // collects what each ended process used; may be null
  int output = -1;                   // with a watcher: where the output goes; -1: to idleburn's own
  Confinement confinement;
  std::string folder;  // the working directory; empty: idleburn's own
};

// How a workload ended.
struct WorkloadEnd {
  int exit_code = 0;          // as in a shell: the workload's, or 128 + the signal
  std::optional<int> signal;  // the signal that killed it
  bool core_dumped = false;
  std::int64_t cpu_ns = 0;     // CPU time of the workload and of all children it waited for
  std::string output_failure;  // why its output could not be copied; empty if it was
};
// "exit 0", "signal 9 (SIGKILL)", "signal 11 (SIGSEGV), core dumped".
std::string Describe(const WorkloadEnd& end);
// The exit code of an ended process, from what waitid returned.
int ExitCodeOf(const siginfo_t& end);

// Runs a command as if idleburn were not there. The command shares the terminal, session, process group and input.
// Signals from a user or a batch system reach the workload exactly once and do not end idleburn, which ends after the
// workload.
//
// Orphans of the workload become children of idleburn (it is their subreaper). Those that end before the workload are
// waited for; the others keep running. So their CPU time is known (ReapedUsage in measure/process_tree.h).
class Workload {
 public:
  // Blocks signals from here on. Child processes that exist now do not belong to the workload. Call it while this
  // process has one thread: later threads inherit the blocked signals, but a signal would end an earlier thread.
  static std::unique_ptr<Workload> Prepare();
  // Starts the command. After Wait it may start another one. If a signal that would have ended idleburn came since
  // Prepare or the last command, it fails with exit code 128 + signal. The thread that called Prepare calls it; other
  // threads may exist by now.
  tl::expected<void, StartFailure> Start(const WorkloadSpec& spec);
  // Takes over a running workload from an earlier image of this process. Only Wait may be called.
  static std::unique_ptr<Workload> TakeUp(ServedCommand* served);
  // Restores the signals of this thread. A workload that still runs continues.
  ~Workload();
  Workload(const Workload&) = delete;
  Workload& operator=(const Workload&) = delete;

  [[nodiscard]] pid_t pid() const { return pid_; }
  // What a successor must know to serve the workload.
  [[nodiscard]] ServedCommand* served() const { return served_; }
  // Children of idleburn that do not belong to the workload: helpers, and children from before Prepare. After Start.
  [[nodiscard]] std::vector<pid_t> helpers() const;
  // Serves signals and processes until the workload ended and its output is copied. The thread that started it calls
  // it.
  WorkloadEnd Wait() { return *WaitUntil(std::nullopt); }
  // How the last command ended, for a caller that lost the result of Wait. It waits for a running command.
  WorkloadEnd WaitAgain() { return pid_ >= 0 ? Wait() : last_; }
  // Whether a command was ever started.
  [[nodiscard]] bool started() const { return pid_ >= 0 || last_.exit_code >= 0; }
  // Waits no longer than the monotonic time `deadline`. Absent if the workload still runs.
  std::optional<WorkloadEnd> WaitUntil(std::optional<Nanos> deadline);
  // Signals that usually end a program and that idleburn received since the command started.
  [[nodiscard]] const std::vector<int>& end_signals() const { return end_signals_; }
  // A signal that came while no command ran and would have ended idleburn.
  [[nodiscard]] std::optional<int> EndedBefore() const;
  // The processes of the workload that still run, orphans included. The thread that started the workload calls it.
  std::vector<pid_t> Processes();
  // Sends a signal to each of them and wakes stopped ones, which would not receive it. `only_handled` leaves out
  // processes without a handler, because the signal would end them. Returns how many got it.
  std::size_t Signal(int signal, bool only_handled);
  // Ends every process that the workload left behind, politely first. Returns how many did not end.
  std::size_t EndLeftovers();

 private:
  Workload() = default;
  struct CameSignal {
    int number = 0;
    bool from_kernel = false;
  };
  // Takes the next signal that waits to be served.
  [[nodiscard]] std::optional<CameSignal> NextSignal() const;
  // Blocks the signals that are served, and gives them back.
  void HoldSignals();
  void ReleaseSignals() const;
  // Serves all signals that wait.
  void ServeSignals();
  void Serve(int signal, bool by_terminal);
  void StopWithIt() const;
  // Waits for all children that have ended or stopped, and records how the workload ended.
  void WaitForProcesses();

  ServedCommand* served_ = nullptr;
  pid_t pid_ = -1;
  int signals_ = -1;  // signalfd of the blocked signals; -1: no descriptor was free, so signals are polled
  sigset_t held_ = {};
  sigset_t mask_before_ = {};
  struct sigaction child_before_ = {};
  ReapedUsage* reaped_ = nullptr;
  std::unique_ptr<Witness> witness_;
  std::unique_ptr<OutputRelay> relay_;
  std::string no_relay_;  // why no relay copies the output although there is a watcher
  std::optional<WorkloadEnd> end_;
  bool finishing_ = false;                  // the workload ended, and its last output is being copied
  WorkloadEnd last_{-1, {}, false, 0, {}};  // how the last command ended; exit code -1: there was none
  std::vector<int> end_signals_;
  std::vector<pid_t> others_;  // children that existed at Prepare
};

}  // namespace idleburn
