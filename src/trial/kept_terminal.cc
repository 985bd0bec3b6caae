#include "trial/kept_terminal.h"

#include <unistd.h>

#include <csignal>

namespace idleburn {

KeptTerminal::KeptTerminal() {
  termios modes{};
  if (tcgetattr(STDIN_FILENO, &modes) == 0) modes_ = modes;
}

KeptTerminal::~KeptTerminal() {
  if (!modes_) return;
  // Who has been put into the background meanwhile would be stopped for it.
  sigset_t stop;
  sigset_t before;
  sigemptyset(&stop);
  sigaddset(&stop, SIGTTOU);
  pthread_sigmask(SIG_BLOCK, &stop, &before);
  tcsetattr(STDIN_FILENO, TCSANOW, &*modes_);
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
}

}  // namespace idleburn
