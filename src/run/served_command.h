#pragma once

#include <sys/types.h>

#include <array>
#include <atomic>

#include "run/terminal_modes.h"

namespace idleburn {

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

}  // namespace idleburn
