#pragma once

#include <termios.h>

#include <mutex>

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

}  // namespace idleburn
