#include "cli/top_screen.h"

#include <poll.h>
#include <signal.h>
#include <sys/ioctl.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <ctime>

namespace idleburn {
namespace {

constexpr const char* kTakeScreen = "\x1b[?1049h\x1b[?25l";  // the other screen, no cursor
constexpr const char* kGiveScreen = "\x1b[?25h\x1b[?1049l";

std::int64_t Monotonic() {
  timespec now{};
  clock_gettime(CLOCK_MONOTONIC, &now);
  return now.tv_sec * kNanosPerSecond + now.tv_nsec;
}

winsize SizeOf() {
  winsize size{};
  if (ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) != 0 || size.ws_row == 0 || size.ws_col == 0) {
    size.ws_row = 24;
    size.ws_col = 80;
  }
  return size;
}

}  // namespace

TopScreen::TopScreen(bool in_place) : in_place_(in_place) {
  sigset_t set;
  sigemptyset(&set);
  for (const int signal : {SIGINT, SIGTERM, SIGHUP, SIGQUIT}) sigaddset(&set, signal);
  if (in_place) sigaddset(&set, SIGTSTP);
  pthread_sigmask(SIG_BLOCK, &set, nullptr);
  signals_ = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
  if (in_place) Enter();
}

TopScreen::~TopScreen() {
  Leave();
  if (signals_ >= 0) close(signals_);
}

void TopScreen::Enter() {
  entered_ = true;
  keys_ = tcgetattr(STDIN_FILENO, &before_) == 0;
  if (keys_) {
    termios single = before_;
    single.c_lflag &= ~static_cast<tcflag_t>(ICANON | ECHO);
    single.c_cc[VMIN] = 0;
    single.c_cc[VTIME] = 0;
    tcsetattr(STDIN_FILENO, TCSANOW, &single);
  }
  std::fputs(kTakeScreen, stdout);
  std::fflush(stdout);
}

void TopScreen::Leave() {
  if (!entered_) return;
  entered_ = false;
  std::fputs(kGiveScreen, stdout);
  std::fflush(stdout);
  if (keys_) tcsetattr(STDIN_FILENO, TCSAFLUSH, &before_);
}

bool TopScreen::Ends(int signal) {
  if (signal != SIGTSTP) return true;
  Leave();
  raise(SIGSTOP);
  Enter();
  return false;
}

bool TopScreen::TakeSignals() {
  signalfd_siginfo info{};
  while (read(signals_, &info, sizeof info) == static_cast<ssize_t>(sizeof info)) {
    if (Ends(static_cast<int>(info.ssi_signo))) return false;
  }
  return true;
}

bool TopScreen::TakeKeys() {
  std::array<char, 64> typed;
  const ssize_t n = read(STDIN_FILENO, typed.data(), typed.size());
  if (n <= 0) return false;  // the terminal is gone
  for (ssize_t i = 0; i < n; ++i) {
    if (typed[static_cast<std::size_t>(i)] == 'q' || typed[static_cast<std::size_t>(i)] == 'Q') return false;
  }
  return true;
}

bool TopScreen::Wait(Nanos span) {
  const std::int64_t until = Monotonic() + span.count();
  while (true) {
    const std::int64_t left = until - Monotonic();
    if (left <= 0) return true;
    std::array<pollfd, 2> wait = {{{signals_, POLLIN, 0}, {entered_ && keys_ ? STDIN_FILENO : -1, POLLIN, 0}}};
    const auto milliseconds = static_cast<int>((left + 999'999) / 1'000'000);
    if (poll(wait.data(), wait.size(), milliseconds) < 0) continue;
    if (wait[0].revents != 0 && !TakeSignals()) return false;
    if (wait[1].revents != 0 && !TakeKeys()) return false;
  }
}

void TopScreen::Draw(const std::string& text) {
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
