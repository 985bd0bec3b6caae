#pragma once

#include <termios.h>

#include <optional>

namespace idleburn {

// The modes of the user's terminal, put back at the end: a command that is killed cannot do it itself.
class KeptTerminal {
 public:
  KeptTerminal();
  ~KeptTerminal();
  KeptTerminal(const KeptTerminal&) = delete;
  KeptTerminal& operator=(const KeptTerminal&) = delete;

 private:
  std::optional<termios> modes_;  // absent: standard input is no terminal
};

}  // namespace idleburn
