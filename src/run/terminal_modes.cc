#include "run/terminal_modes.h"

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <cstddef>
#include <new>
#include <vector>

#include "run/descendants.h"

namespace idleburn {
namespace {

// What the kernel keeps there that is no mode.
constexpr tcflag_t kNoModes = PENDIN | FLUSHO | EXTPROC;

// Bits that are carried over, and what they were before.
struct Carried {
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

struct TerminalModes::State {
  explicit State(const termios& modes) : opened(modes), seen(modes) {}

  void Lay(const termios& now, termios* outer) {
    input.Lay(opened.c_iflag ^ now.c_iflag, now.c_iflag, &outer->c_iflag);
    output.Lay(opened.c_oflag ^ now.c_oflag, now.c_oflag, &outer->c_oflag);
    local.Lay((opened.c_lflag ^ now.c_lflag) & ~kNoModes, now.c_lflag, &outer->c_lflag);
    const auto lay_number = [&](std::size_t i, Carried* carried) {
      carried->Lay(opened.c_cc[i] == now.c_cc[i] ? 0 : 0xFF, now.c_cc[i], &outer->c_cc[i]);
    };
    lay_number(VMIN, &least);
    lay_number(VTIME, &time);
  }
  void Set(const termios& now, int outer) {
    termios modes{};
    if (tcgetattr(outer, &modes) != 0) return;
    Lay(now, &modes);
    SetModes(outer, modes);
    seen = now;
  }
  [[nodiscard]] bool Changes(const termios& now) const {
    return now.c_iflag != seen.c_iflag || now.c_oflag != seen.c_oflag ||
           ((now.c_lflag ^ seen.c_lflag) & ~kNoModes) != 0 || now.c_cc[VMIN] != seen.c_cc[VMIN] ||
           now.c_cc[VTIME] != seen.c_cc[VTIME];
  }

  const termios opened;
  termios seen;  // and carried over
  Carried input;
  Carried output;
  Carried local;
  Carried least;  // characters that a read waits for, and how long
  Carried time;
};

TerminalModes::TerminalModes(const termios& opened) {
  void* memory = mmap(nullptr, sizeof(State), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  state_ = memory == MAP_FAILED ? nullptr : new (memory) State(opened);
}

TerminalModes::~TerminalModes() {
  if (state_ != nullptr) munmap(state_, sizeof(State));
}

void TerminalModes::Follow(int inner, int outer) {
  const std::scoped_lock lock(mutex_);
  termios now{};
  if (paused_ || state_ == nullptr || tcgetattr(inner, &now) != 0) return;
  if (state_->Changes(now) && OursInFront(outer)) state_->Set(now, outer);
}

void TerminalModes::TakeBack(int outer) {
  const std::scoped_lock lock(mutex_);
  paused_ = true;
  if (state_ != nullptr && state_->Changes(state_->opened) && OursInFront(outer)) state_->Set(state_->opened, outer);
}

void TerminalModes::Resume() {
  const std::scoped_lock lock(mutex_);
  paused_ = false;
}

void TerminalModes::TakeBackAlone(int outer) {
  if (state_ != nullptr && state_->Changes(state_->opened) && InFront(outer)) state_->Set(state_->opened, outer);
}

}  // namespace idleburn
