#include "support/terminal_session.h"

#include <gtest/gtest.h>
#include <poll.h>
#include <pty.h>
#include <sys/ioctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <system_error>
#include <thread>

#include "support/all_signals.h"

namespace idleburn::testing {

TerminalSession::TerminalSession(const std::vector<std::string>& command) {
  std::vector<std::string> words = command;
  std::vector<char*> arguments;
  for (std::string& word : words) arguments.push_back(word.data());
  arguments.push_back(nullptr);
  winsize size{};
  size.ws_row = 24;
  size.ws_col = 80;
  pid_ = forkpty(&terminal_, nullptr, nullptr, &size);
  if (pid_ == 0) {
    MindAllSignals();
    setenv("TERM", "xterm", 1);  // whatever the tests themselves run in
    execvp(arguments[0], arguments.data());
    _exit(127);
  }
  // A test that goes on would send its signals to process -1, which is everybody.
  if (pid_ < 0) throw std::system_error(errno, std::generic_category(), "no terminal for the test");
}

TerminalSession::~TerminalSession() {
  if (pid_ > 0) {
    kill(pid_, SIGKILL);
    waitpid(pid_, nullptr, 0);
  }
  close(terminal_);
}

void TerminalSession::Type(std::string_view text) const {
  EXPECT_EQ(write(terminal_, text.data(), text.size()), static_cast<ssize_t>(text.size()));
}

bool TerminalSession::ReadMore(int timeout_milliseconds) {
  pollfd wait{terminal_, POLLIN, 0};
  if (poll(&wait, 1, timeout_milliseconds) <= 0) return false;
  std::array<char, 4096> block;
  const ssize_t n = read(terminal_, block.data(), block.size());
  if (n <= 0) return false;
  shown_.append(block.data(), static_cast<std::size_t>(n));
  return true;
}

bool TerminalSession::Expect(std::string_view text, int milliseconds) {
  const auto end = std::chrono::steady_clock::now() + std::chrono::milliseconds(milliseconds);
  while (true) {
    const std::size_t at = shown_.find(text, found_);
    if (at != std::string::npos) {
      found_ = at + text.size();
      return true;
    }
    if (std::chrono::steady_clock::now() > end || !ReadMore(milliseconds)) return false;
  }
}

void TerminalSession::Resize(unsigned short rows, unsigned short columns) const {
  winsize size{};
  size.ws_row = rows;
  size.ws_col = columns;
  EXPECT_EQ(ioctl(terminal_, TIOCSWINSZ, &size), 0);
}

int TerminalSession::WaitForEnd() {
  while (ReadMore(60'000)) continue;
  int status = 0;
  pid_t ended = 0;
  for (int i = 0; i < 6000 && ended == 0; ++i) {
    ended = waitpid(pid_, &status, WNOHANG);
    if (ended == 0) std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
  EXPECT_EQ(ended, pid_) << "it does not end: " << shown_;
  if (ended == 0) {
    kill(pid_, SIGKILL);
    waitpid(pid_, &status, 0);
  }
  pid_ = -1;
  return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
}

bool StopsAndGoesOn(TerminalSession& shell) {
  shell.Type("\x1a");
  if (!shell.Expect("Stopped")) return false;
  shell.Type("jobs; echo at-$((40 + 2))\n");
  if (!shell.Expect("at-42\r\n")) return false;
  shell.Type("fg\n");
  if (!shell.Expect("cat'\r\n")) return false;
  std::this_thread::sleep_for(std::chrono::milliseconds(200));  // the shell changes the terminal's modes
  shell.Type("two\n");
  return shell.Expect("two\r\ntwo\r\n");
}

}  // namespace idleburn::testing
