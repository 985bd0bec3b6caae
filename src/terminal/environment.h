#pragma once

#include <algorithm>

#include "base/time.h"

namespace idleburn {

// What a command may know of the world around the process: the time at its start, and the terminal. main.cc fills it
// in; a test chooses its own. All parts of a report use this one `now`, so they agree about the age of a price.
struct Environment {
  Instant now;
  bool terminal_out = false;  // standard output is a terminal
  bool terminal_err = false;
  int columns = 100;     // of the terminal of standard output
  int columns_err = 80;  // of the terminal of standard error
  bool no_color = false;
  bool utf8 = true;  // the locale shows UTF-8 on terminals

  // The width for printing, in columns: the terminal's, but at least `least`. Without a terminal it is `elsewhere`.
  [[nodiscard]] int Width(int elsewhere = 100, int least = 0) const {
    return terminal_out ? std::max(columns, least) : elsewhere;
  }
};

// The exit code if a gate of --fail-on does not hold, or cannot be judged. Scripts rely on the value. It differs from 1
// and 2, which mean an error and a wrong use.
inline constexpr int kExitGate = 3;

}  // namespace idleburn
