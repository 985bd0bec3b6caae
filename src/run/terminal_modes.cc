#include "run/terminal_modes.h"

#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <cstddef>
#include <vector>

#include "run/descendants.h"

namespace idleburn {
namespace {

// What the kernel keeps there that is no mode.
constexpr tcflag_t kNoModes = PENDIN | FLUSHO | EXTPROC;

// A job in the background would be stopped for it.
void SetModes(int terminal, const termios& modes) {
  sigset_t stop;
  sigset_t mask;
  sigemptyset(&stop);
  sigaddset(&stop, SIGTTOU);
  pthread_sigmask(SIG_BLOCK, &stop, &mask);
  tcsetattr(terminal, TCSANOW, &modes);
  pthread_sigmask(SIG_SETMASK, &mask, nullptr);
}

// Of a terminal that controls no session of ours, anybody may set the modes.
bool InFront(int terminal) {
  const pid_t front = tcgetpgrp(terminal);
  return front < 0 || front == getpgrp();
}

// The workload may be a shell with jobs of its own.
bool OursInFront(int terminal) {
  if (InFront(terminal)) return true;
  const std::vector<pid_t> ours = DescendantsOf(getpid());
  return std::find(ours.begin(), ours.end(), tcgetpgrp(terminal)) != ours.end();
}

}  // namespace

void TerminalModes::Lay(const termios& now, termios* outer) {
  const termios& opened = carried_.opened;
  carried_.input.Lay(opened.c_iflag ^ now.c_iflag, now.c_iflag, &outer->c_iflag);
  carried_.output.Lay(opened.c_oflag ^ now.c_oflag, now.c_oflag, &outer->c_oflag);
  carried_.local.Lay((opened.c_lflag ^ now.c_lflag) & ~kNoModes, now.c_lflag, &outer->c_lflag);
  const auto lay_number = [&](std::size_t i, CarriedBits* carried) {
    carried->Lay(opened.c_cc[i] == now.c_cc[i] ? 0 : 0xFF, now.c_cc[i], &outer->c_cc[i]);
  };
  lay_number(VMIN, &carried_.least);
  lay_number(VTIME, &carried_.time);
}

void TerminalModes::Set(const termios& now, int outer) {
  termios modes{};
  if (tcgetattr(outer, &modes) != 0) return;
  Lay(now, &modes);
  SetModes(outer, modes);
  carried_.seen = now;
}

bool TerminalModes::Changes(const termios& now) const {
  const termios& seen = carried_.seen;
  return now.c_iflag != seen.c_iflag || now.c_oflag != seen.c_oflag ||
         ((now.c_lflag ^ seen.c_lflag) & ~kNoModes) != 0 || now.c_cc[VMIN] != seen.c_cc[VMIN] ||
         now.c_cc[VTIME] != seen.c_cc[VTIME];
}

void TerminalModes::Follow(int inner, int outer) {
  const std::scoped_lock lock(mutex_);
  termios now{};
  if (paused_ || tcgetattr(inner, &now) != 0) return;
  if (Changes(now) && OursInFront(outer)) Set(now, outer);
}

void TerminalModes::TakeBack(int outer) {
  const std::scoped_lock lock(mutex_);
  paused_ = true;
  if (Changes(carried_.opened) && OursInFront(outer)) Set(carried_.opened, outer);
}

void TerminalModes::Resume() {
  const std::scoped_lock lock(mutex_);
  paused_ = false;
}

void TerminalModes::TakeBackAlone(int outer) {
  if (Changes(carried_.opened) && InFront(outer)) Set(carried_.opened, outer);
}

}  // namespace idleburn
