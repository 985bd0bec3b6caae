#pragma once

#include <sys/types.h>

#include <string>
#include <string_view>
#include <vector>

namespace idleburn::testing {

// Python that tells the size of its terminal at the start and whenever it changes, and ends at 132 columns. That is
// written without print: a signal may come while one is under way.
inline constexpr const char* kTellsItsSize = R"(
import os, signal, time
def show(*_):
    size = os.get_terminal_size(1)
    os.write(1, b"%d %d\n" % size)
    if size.columns == 132: os._exit(0)
signal.signal(signal.SIGWINCH, show)
show()
time.sleep(60)
)";

// A command on a terminal of its own, and a user who types and reads there.
class TerminalSession {
 public:
  // With 24 rows of 80 columns.
  explicit TerminalSession(const std::vector<std::string>& command);
  ~TerminalSession();
  TerminalSession(const TerminalSession&) = delete;
  TerminalSession& operator=(const TerminalSession&) = delete;

  void Type(std::string_view text) const;
  // Reads until `text` was shown after what an earlier Expect found; false after so long, or at the end.
  bool Expect(std::string_view text, int milliseconds = 60'000);
  void Resize(unsigned short rows, unsigned short columns) const;
  // Reads to the end. The exit code, or 128 + the signal.
  int WaitForEnd();
  // All that was shown so far, byte by byte.
  [[nodiscard]] const std::string& shown() const { return shown_; }
  [[nodiscard]] pid_t pid() const { return pid_; }

 private:
  bool ReadMore(int timeout_milliseconds);

  int terminal_ = -1;
  pid_t pid_ = -1;
  std::string shown_;
  std::size_t found_ = 0;
};

// A shell in which `cat` runs in front: Ctrl-Z gives the shell back, which takes a command, and fg gives `cat` back,
// which repeats a line. False at the first of these that does not come.
bool StopsAndGoesOn(TerminalSession& shell);

}  // namespace idleburn::testing
