#pragma once

#include <termios.h>

#include <string>

#include "base/time.h"
#include "os/held_signals.h"

namespace idleburn {

// The terminal of `idleburn top`, and who may end it: the user's q, or a signal. Held back from the constructor on, in
// all threads that are started afterwards. The terminal is as it was when this is gone, however it ends but by SIGKILL.
class TopScreen {
 public:
  // `in_place`: takes the screen of the terminal that standard output is. Otherwise there are only the signals.
  explicit TopScreen(bool in_place);
  ~TopScreen() { Leave(); }
  TopScreen(const TopScreen&) = delete;
  TopScreen& operator=(const TopScreen&) = delete;

  // Waits until that much time has passed; false if asked to end. A stop by Ctrl-Z gives the terminal back meanwhile.
  bool Wait(Nanos span);
  // Shows `text` in place of what was shown: as many of its lines as there is room for.
  void Draw(const std::string& text);
  // Columns of the terminal, now.
  [[nodiscard]] int Columns() const;
  // Gives the terminal back.
  void Leave();

 private:
  void Enter();
  bool Ends(int signal);
  [[nodiscard]] bool TakeSignals();
  [[nodiscard]] bool TakeKeys();

  bool in_place_;
  HeldSignals signals_;
  bool entered_ = false;
  bool keys_ = false;  // standard input is a terminal: single keys are read from it
  termios before_{};
};

}  // namespace idleburn
