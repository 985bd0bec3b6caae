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
#include "run/spawn.h"

namespace idleburn {

// Tells whether a signal that reached this process reached its whole process group, and with it the workload.
//
//   kill PID        only we get it: it must be passed on, or the workload never hears of it
//   kill -- -PGID   timeout(1), `kill %1`, a batch system that signals every process: the workload has it already,
//                   and a second copy would interrupt the clean-up that the first one began
//
// Nothing in a signal says which it was. So a tiny process stays in the group with every signal blocked and counts
// what it receives: what it received too was sent to the group.
class Witness {
 public:
  // Null if no process can be made; then every signal is taken for one that only we received. To be called while
  // this process has one thread.
  static std::unique_ptr<Witness> Start();
  ~Witness();
  Witness(const Witness&) = delete;
  Witness& operator=(const Witness&) = delete;

  // For a signal that was just received here: whether the witness received it too. Waits for that a moment, and for
  // what is pending there for as long as a busy machine takes to let it count.
  bool SawToo(int signal);
  [[nodiscard]] pid_t pid() const { return pid_; }
  // It was waited for: somebody ended it.
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

struct WorkloadSpec {
  std::vector<std::string> command;  // not empty
  std::vector<std::pair<std::string, std::string>> environment;
  OutputWatcher* watcher = nullptr;  // null: the workload gets our standard output and error as they are
  ReapedUsage* reaped = nullptr;     // null, or where the use of every process we wait for is added
  int output = -1;                   // with a watcher: where its output goes instead of to ours; -1: to ours
  Confinement confinement;
  std::string folder;  // its working directory; empty: ours
};

// How a workload ended.
struct WorkloadEnd {
  int exit_code = 0;          // as a shell says it: the workload's, or 128 + the signal
  std::optional<int> signal;  // what killed it
  bool core_dumped = false;
  std::int64_t cpu_ns = 0;     // of the workload and all it had waited for
  std::string output_failure;  // why its output could not be passed on; empty if it could
};
// "exit 0", "signal 9 (SIGKILL)", "signal 11 (SIGSEGV), core dumped".
std::string Describe(const WorkloadEnd& end);
// As waitid tells it of a process that has ended.
int ExitCodeOf(const siginfo_t& end);

// A command, run as if we were not there: it shares our terminal, session, process group and input. While it runs,
// signals to us are held back: those a user or a batch system sends go to the workload, exactly once, and do not end
// us; we end after it. Processes it leaves behind are handed to us (we are their subreaper) and waited for if they
// end before it does; those that do not are left alone.
class Workload {
 public:
  // Holds signals back from here on; processes that we have by now, and what those start, are none of a workload's. To
  // be called while this process has one thread: threads started later hold the same signals back, threads started
  // before would be ended by them.
  static std::unique_ptr<Workload> Prepare();
  // Starts the command; another one once Wait returned. A signal that came since Prepare, or since the last one, and
  // would have ended us is a failure with 128 + its number. To be called by the thread that prepared, other threads may
  // run by now.
  tl::expected<void, StartFailure> Start(const WorkloadSpec& spec);
  // One that runs and that another image of this process has started: only Wait is to be called.
  static std::unique_ptr<Workload> TakeUp(ServedCommand* served);
  // Signals work as before Prepare again, where this thread is concerned. A workload not waited for goes on.
  ~Workload();
  Workload(const Workload&) = delete;
  Workload& operator=(const Workload&) = delete;

  [[nodiscard]] pid_t pid() const { return pid_; }
  // What there is to know for who goes on after us.
  [[nodiscard]] ServedCommand* served() const { return served_; }
  // Processes of ours that are no part of the workload: helpers, and what was there before. After Start.
  [[nodiscard]] std::vector<pid_t> helpers() const;
  // Serves signals and waits for processes until the workload has ended and its output is passed on. By the thread
  // that started it.
  WorkloadEnd Wait() { return *WaitUntil(std::nullopt); }
  // How the last command ended; one that still runs is waited for. For who lost what Wait returned.
  WorkloadEnd WaitAgain() { return pid_ >= 0 ? Wait() : last_; }
  // Whether a command was ever started.
  [[nodiscard]] bool started() const { return pid_ >= 0 || last_.exit_code >= 0; }
  // The same, for as long as the monotonic clock is before `deadline`; absent if the workload runs still.
  std::optional<WorkloadEnd> WaitUntil(std::optional<Nanos> deadline);
  // Signals that are meant to end programs and came to us since the command was started.
  [[nodiscard]] const std::vector<int>& end_signals() const { return end_signals_; }
  // One that came while no command ran, and would have ended us.
  [[nodiscard]] std::optional<int> EndedBefore() const;
  // The workload and all that it has started or left behind, as far as they run still. By the thread that started it.
  std::vector<pid_t> Processes();
  // Sends a signal to each of them, and wakes those that are stopped: they would never hear of it. With `only_handled`
  // only to those that have a handler for it, because it would end the others. How many got it.
  std::size_t Signal(int signal, bool only_handled);
  // Ends every process that the workload has left behind, first by asking. How many would not end.
  std::size_t EndLeftovers();

 private:
  Workload() = default;
  struct CameSignal {
    int number = 0;
    bool from_kernel = false;
  };
  [[nodiscard]] std::optional<CameSignal> NextSignal() const;
  void HoldSignals();
  void ReleaseSignals() const;
  void ServeSignals();
  void Serve(int signal, bool by_terminal);
  void StopWithIt() const;
  void WaitForProcesses();

  ServedCommand* served_ = nullptr;
  pid_t pid_ = -1;
  int signals_ = -1;  // where held signals are read; -1 where no descriptor was to be had: they are asked for
  sigset_t held_ = {};
  sigset_t mask_before_ = {};
  struct sigaction child_before_ = {};
  ReapedUsage* reaped_ = nullptr;
  std::unique_ptr<Witness> witness_;
  std::unique_ptr<OutputRelay> relay_;
  std::string no_relay_;  // why the workload has our output as it is, though somebody wants to watch
  std::optional<WorkloadEnd> end_;
  bool finishing_ = false;                  // it has ended, and its last output is being passed on
  WorkloadEnd last_{-1, {}, false, 0, {}};  // of the command before; exit code -1: there was none
  std::vector<int> end_signals_;
  std::vector<pid_t> others_;  // our children when this was prepared
};

}  // namespace idleburn
