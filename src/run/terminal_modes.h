#pragma once

#include <termios.h>

#include <mutex>

namespace idleburn {

// Carries over to the user's terminal what a workload changes of the modes of the pseudo-terminal that it writes to: a
// program of curses switches off echo and lines there, but its keys come from the user's terminal. Only what it changes
// is changed, and taken back as it was.
class TerminalModes {
 public:
  // `opened`: the modes that the pseudo-terminal was opened with.
  explicit TerminalModes(const termios& opened);
  ~TerminalModes();
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
  struct State;
  State* state_;  // shared with such a process; null if no memory can be
  std::mutex mutex_;
  bool paused_ = false;
};

}  // namespace idleburn
