#include "top/top_screen.h"

#include <poll.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <csignal>
#include <cstdio>
#include <optional>
#include <vector>

namespace idleburn {
namespace {

// Takes the alternate screen and hides the cursor. A line that is wider than the window is cut at its edge, not
// wrapped.
constexpr const char* kTakeScreen = "\x1b[?1049h\x1b[?25l\x1b[?7l";
constexpr const char* kGiveScreen = "\x1b[?7h\x1b[?25h\x1b[?1049l";

// A terminal that does not know its size is taken for the smallest that is usual.
winsize SizeOf() {
  winsize size{};
  if (ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) != 0 || size.ws_row == 0 || size.ws_col == 0) {
    size.ws_row = 24;
    size.ws_col = 80;
  }
  return size;
}

}  // namespace

TopScreen::TopScreen(bool in_place)
    : in_place_(in_place),
      signals_(in_place ? std::vector<int>{SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGTSTP}
                        : std::vector<int>{SIGINT, SIGTERM, SIGHUP, SIGQUIT}) {
  if (in_place) Enter();
}

void TopScreen::Enter() {
  entered_ = true;
  keys_ = tcgetattr(STDIN_FILENO, &before_) == 0;
  if (keys_) {
    // Keys come one by one and are not echoed; a read never waits.
    termios single = before_;
    single.c_lflag &= ~static_cast<tcflag_t>(ICANON | ECHO);
    single.c_cc[VMIN] = 0;
    single.c_cc[VTIME] = 0;
    tcsetattr(STDIN_FILENO, TCSANOW, &single);
  }
  std::fputs(kTakeScreen, stdout);
  std::fflush(stdout);
}

// Keys that were typed and not read are dropped, so that the shell does not get them.
void TopScreen::Leave() {
  if (!entered_) return;
  entered_ = false;
  std::fputs(kGiveScreen, stdout);
  std::fflush(stdout);
  if (keys_) tcsetattr(STDIN_FILENO, TCSAFLUSH, &before_);
}

// Ctrl-Z stops us as it stops any program. The terminal is given back first and taken again afterwards.
bool TopScreen::Ends(int signal) {
  if (signal != SIGTSTP) return true;
  Leave();
  raise(SIGSTOP);
  Enter();
  return false;
}

bool TopScreen::TakeSignals() {
  while (const std::optional<int> signal = signals_.Take()) {
    if (Ends(*signal)) return false;
  }
  return true;
}

bool TopScreen::TakeKeys() {
  // Whatever was typed is taken at once; all but q is ignored.
  std::array<char, 64> typed;
  const ssize_t n = read(STDIN_FILENO, typed.data(), typed.size());
  if (n <= 0) return false;  // the terminal is gone
  for (ssize_t i = 0; i < n; ++i) {
    if (typed[static_cast<std::size_t>(i)] == 'q' || typed[static_cast<std::size_t>(i)] == 'Q') return false;
  }
  return true;
}

// A signal or a key ends the wait at once, so nobody waits for a second to leave.
bool TopScreen::Wait(Nanos span) {
  const Nanos until = MonotonicNow() + span;
  while (const int left = MillisecondsUntil(until)) {
    // Keys wait in the terminal while it is not ours.
    std::array<pollfd, 2> wait = {{{signals_.fd(), POLLIN, 0}, {entered_ && keys_ ? STDIN_FILENO : -1, POLLIN, 0}}};
    if (poll(wait.data(), wait.size(), left) < 0) continue;
    if (wait[0].revents != 0 && !TakeSignals()) return false;
    if (wait[1].revents != 0 && !TakeKeys()) return false;
  }
  return true;
}

void TopScreen::Draw(const std::string& text) {
  // Lines are written over each other and cleared to their ends. To clear all of the screen first would flicker.
  std::string screen = "\x1b[H";
  int room = SizeOf().ws_row;
  for (std::size_t at = 0; at < text.size() && room > 0; --room) {
    const std::size_t end = std::min(text.find('\n', at), text.size());
    screen += text.substr(at, end - at) + "\x1b[K" + (room > 1 ? "\n" : "");
    at = end + 1;
  }
  screen += "\x1b[J";
  std::fwrite(screen.data(), 1, screen.size(), stdout);
  std::fflush(stdout);
}

int TopScreen::Columns() const { return in_place_ ? SizeOf().ws_col : 100; }

}  // namespace idleburn
