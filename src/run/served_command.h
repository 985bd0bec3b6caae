#pragma once

#include <sys/types.h>
#include <termios.h>

#include <array>
#include <atomic>
#include <csignal>
#include <mutex>
#include <optional>
#include <string>
#include <tl/expected.hpp>
#include <utility>
#include <vector>

#include "base/result.h"

namespace idleburn {
// A command that is served until it ends, whoever serves it: the terminal modes it sets, the record that a successor
// reads, and the guard that survives a crash of idleburn. docs/run-ends.md, "How a run ends", states the promise:
// nothing that fails in idleburn changes the command's output or exit code.

// Mode bits that were carried over to the user's terminal, with their original values.
//
// Example: the workload clears ECHO on its pseudo-terminal. ECHO is cleared on the user's terminal, and `before`
// remembers that it was set. When the workload sets it again, the original value comes back.
struct CarriedBits {
  tcflag_t bits = 0;
  tcflag_t before = 0;

  // Sets the bits of `differ` in *outer as in `now`. Bits that no longer differ get their original value back.
  template <typename Word>
  // Sets the bits of `differ` in *outer as in `now`. Bits that no longer differ get their original value back.
  void Lay(tcflag_t differ, Word now, Word* outer) {
    const tcflag_t fresh = differ & ~bits;
    const tcflag_t over = bits & ~differ;
    before = (before & ~fresh) | (*outer & fresh);
    const tcflag_t kept = *outer & ~(differ | over);
    *outer = static_cast<Word>(kept | (now & differ) | (before & over));
    bits = differ;
  }
};

// The modes that a pseudo-terminal was opened with, and the modes that were carried over from it.
struct CarriedModes {
  termios opened = {};
  termios seen = {};  // the modes that were carried over last
  CarriedBits input;
  CarriedBits output;
  CarriedBits local;
  CarriedBits least;  // VMIN: how many characters a read waits for
  CarriedBits time;   // VTIME: how long it waits
};

// Copies the modes that a workload sets on its pseudo-terminal to the user's terminal. A curses program switches off
// echo on the terminal it writes to, but its keys come from the user's terminal. Only modes that the workload changes
// are copied, and each gets its original value back.
class TerminalModes {
 public:
  // `carried` must outlive the object.
  explicit TerminalModes(CarriedModes& carried) : carried_(carried) {}
  TerminalModes(const TerminalModes&) = delete;
  TerminalModes& operator=(const TerminalModes&) = delete;

  // Copies modes from `inner`, the master of the pseudo-terminal, to `outer`, the user's terminal. It changes nothing
  // while another job, such as the shell, has the terminal. Any thread may call it.
  void Follow(int inner, int outer);
  // Restores the user's terminal. Follow has no effect until Resume.
  void TakeBack(int outer);
  void Resume();
  // Restores the user's terminal from a forked process after idleburn died. It uses system calls only.
  void TakeBackAlone(int outer);

 private:
  void Lay(const termios& now, termios* outer);
  void Set(const termios& now, int outer);
  [[nodiscard]] bool Changes(const termios& now) const;

  CarriedModes& carried_;
  std::mutex mutex_;
  bool paused_ = false;
};

// One stream of a command that is copied (run/output_relay.h). Descriptors keep their numbers over an exec, so a
// successor in the same process can use them.
struct ServedChannel {
  int from = -1;       // idleburn's end; -1: none, or closed
  int to = -1;         // idleburn's own output, where the bytes go
  int child_end = -1;  // the command's end, if it is a terminal
  int stream = 1;      // 1: standard output, 2: standard error
  bool terminal = false;
  pid_t heir = -1;                // the process that copies if idleburn is killed
  std::atomic<pid_t> holder = 0;  // the thread that has read bytes and not written them yet
  CarriedModes modes;
};

// All that a successor needs to serve a running command. It is plain data in shared memory, written as it changes,
// because a crash leaves no time to write it. A successor is an heir of the output, or this program started anew in
// the same process (SurviveCrashes).
struct ServedCommand {
  // Allocates it in memory shared with processes forked later. It is never freed, because a crash may come at any time.
  static ServedCommand* Make();
  // Takes over what another image of this program left to this process. `number` is the descriptor of that memory, as
  // text. Null if there is nothing, or if it belongs to another process.
  static ServedCommand* TakeUp(const char* number);

  std::atomic<pid_t> pid = -1;             // the command; -1: none runs yet
  std::atomic<int> exit_code = -1;         // idleburn's own, once known; -1: the command still runs
  std::atomic<bool> over = false;          // the command ended and its output was copied
  std::atomic<bool> crashed = false;       // a thread of idleburn crashed
  std::atomic<bool> handing_over = false;  // threads must not read what they cannot write in time
  pid_t server = -1;                       // the process of idleburn
  pid_t witness = -1;                      // see Witness (run/workload.h)
  int life = -1;                           // the pipe that tells heirs when idleburn dies
  std::array<ServedChannel, 2> channels;
  int memory = -1;                   // descriptor of this memory; -1: none, so nobody can take over
  std::array<char, 12> number = {};  // that descriptor as text
};

// Installs the crash guard. A crash of idleburn (a fault, abort, std::terminate) must not change the command's exit
// code or close its output. After a crash, memory and locks cannot be trusted. So the process replaces itself by a new
// image of the program (exec). Threads and memory are gone; child processes, pending signals and the descriptors of
// `served` stay. The new image serves the command to its end without measuring. No byte of output is lost, because
// threads write what they have read before the exec.
//
// Limits: the kernel cannot end a thread that hangs in a driver, so the exec waits for it. A crash of the new image
// ends the process. A crash before `served` has a command does too.
//
// It holds until the process ends. Call it once. Threads whose stack may overflow need a SignalStack.
void SurviveCrashes(ServedCommand* served);

// Serves the command to its end if these arguments are those of an image started after a crash, and returns its exit
// code. Absent for any other arguments. main calls this first.
std::optional<int> ServeAfterCrash(const std::vector<std::string>& words);

// Why a command could not be started, with the exit code of a shell: 127 if it was not found, otherwise 126. `run`
// ends with that code.
struct StartFailure {
  Error error;
  int exit_code = 126;
};

// Limits of a process and of all that it starts. They apply before its program begins. `isolate` runs a command on
// fewer CPUs with them.
struct Confinement {
  std::vector<int> cpus;  // allowed CPUs; empty: those of idleburn
  int group = -1;         // open cgroup.procs of its control group; -1: idleburn's group
};

// How to start a process.
struct SpawnSpec {
  std::vector<std::string> command;                              // the program, looked for in PATH, and its arguments
  std::vector<std::pair<std::string, std::string>> environment;  // added to ours, or in place of a name in it
  int out = -1;                                                  // becomes its standard output; -1: ours
  int err = -1;                                                  // becomes its standard error; -1: ours
  sigset_t mask = {};                                            // its blocked signals
  bool ignores_child_signal = false;                             // SIGCHLD is ignored when it starts
  std::atomic<pid_t>* told = nullptr;                            // in shared memory; it puts its number there first
  Confinement confinement;
  std::string folder;  // its working directory; empty: ours
};

// Starts a process that inherits everything else: standard input, process group, terminal. Returns once the program
// runs, or the reason why it does not. posix_spawn was no choice: it cannot bind a process to CPUs or put it into a
// control group before its program begins.
tl::expected<pid_t, StartFailure> Spawn(const SpawnSpec& spec);

}  // namespace idleburn
