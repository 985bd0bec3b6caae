#pragma once

#include <sys/types.h>
#include <termios.h>

#include <array>
#include <atomic>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

namespace idleburn {

// Bits that are carried over, and what they were before.
struct CarriedBits {
  tcflag_t bits = 0;
  tcflag_t before = 0;

  // Makes `outer` what `now` is in the bits of `differ`, and what it was before in those that differed until now.
  template <typename Word>
  void Lay(tcflag_t differ, Word now, Word* outer) {
    const tcflag_t fresh = differ & ~bits;
    const tcflag_t over = bits & ~differ;
    before = (before & ~fresh) | (*outer & fresh);
    const tcflag_t kept = *outer & ~(differ | over);
    *outer = static_cast<Word>(kept | (now & differ) | (before & over));
    bits = differ;
  }
};

// The modes that a pseudo-terminal was opened with, and which of them are carried over.
struct CarriedModes {
  termios opened = {};
  termios seen = {};  // and carried over
  CarriedBits input;
  CarriedBits output;
  CarriedBits local;
  CarriedBits least;  // characters that a read waits for, and how long
  CarriedBits time;
};

// Carries over to the user's terminal what a workload changes of the modes of the pseudo-terminal that it writes to: a
// program of curses switches off echo and lines there, but its keys come from the user's terminal. Only what it changes
// is changed, and taken back as it was.
class TerminalModes {
 public:
  // `carried` outlives it.
  explicit TerminalModes(CarriedModes& carried) : carried_(carried) {}
  TerminalModes(const TerminalModes&) = delete;
  TerminalModes& operator=(const TerminalModes&) = delete;

  // `inner`: the pseudo-terminal, by its master; `outer`: the user's terminal. Nothing is changed while another job has
  // that: the shell, say. From any thread.
  void Follow(int inner, int outer);
  // The user's terminal is as before, and stays so until Resume.
  void TakeBack(int outer);
  void Resume();
  // The same by a process that was forked since, once we are dead. Only system calls.
  void TakeBackAlone(int outer);

 private:
  void Lay(const termios& now, termios* outer);
  void Set(const termios& now, int outer);
  [[nodiscard]] bool Changes(const termios& now) const;

  CarriedModes& carried_;
  std::mutex mutex_;
  bool paused_ = false;
};

// One of a command's streams that is copied on (run/output_relay.h).
struct ServedChannel {
  int from = -1;       // our end; -1: there is none, or it is closed
  int to = -1;         // ours, where it goes
  int child_end = -1;  // the command's end, where it is a terminal
  int stream = 1;
  bool terminal = false;
  pid_t heir = -1;
  std::atomic<pid_t> holder = 0;  // the thread that has read bytes and not written them yet
  CarriedModes modes;
};

// All that is needed to serve a command that runs: plain data, written as it changes. Who serves it after us finds it
// here: an heir of its output, or this program started anew in the same process (run/crash_guard.h).
struct ServedCommand {
  // In memory that processes share which are forked from now on. Never freed: a crash may come at any time.
  static ServedCommand* Make();
  // What another image of this program left to this process under that number; null: nothing.
  static ServedCommand* TakeUp(const char* number);

  std::atomic<pid_t> pid = -1;             // the command; -1: none runs yet
  std::atomic<int> exit_code = -1;         // ours, once it is known; -1: it runs still
  std::atomic<bool> over = false;          // it has ended, and its output is passed on
  std::atomic<bool> crashed = false;       // one of our threads
  std::atomic<bool> handing_over = false;  // nothing is to be read that cannot be written in time
  pid_t server = -1;                       // us
  pid_t witness = -1;
  int life = -1;  // what the heirs watch
  std::array<ServedChannel, 2> channels;
  int memory = -1;                   // the descriptor of this; -1: it has none, and cannot be taken up
  std::array<char, 12> number = {};  // the same as text
};

// A crash of ours (a fault, abort, std::terminate) must not change a command's exit code, nor end the command by taking
// its output away. After one, memory and locks are not to be trusted and other threads may hang on them. So this
// process starts the program anew, which the kernel does in one step: the threads and the memory are gone; children,
// signals that wait, and the descriptors of `served` stay. The new image serves the command to its end, unmeasured.
// What is written to the command's readers stays whole: no byte is read that is not written before.
//
// Nothing helps where the kernel cannot end a thread of ours, as one that hangs in a driver: then the process waits for
// it, as it would to end. A crash of the new image ends it as ever.
//
// From here to the end of the process, and from when `served` has a command; until then a crash is one as ever. Threads
// whose stack may overflow need a SignalStack. Once in a process.
void SurviveCrashes(ServedCommand* served);

// The exit code, if these words of ours are those of a program that was started anew; to be asked first of all.
std::optional<int> ServeAfterCrash(const std::vector<std::string>& words);

}  // namespace idleburn
