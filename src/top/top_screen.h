#pragma once

#include <termios.h>

#include <string>

#include "base/time.h"
#include "os/held_signals.h"

namespace idleburn {

// The terminal of `idleburn top`, and who may end it: the user's q, or a signal. Plain escape sequences do: a library
// for full-screen programs would be one more thing to install.
//
// Signals are held back from the constructor on, in all threads that are started afterwards. The terminal is as it was
// when this is gone, however the program ends but by SIGKILL.
class TopScreen {
 public:
  // `in_place` takes the screen of the terminal that standard output is. Otherwise there are only the signals.
  explicit TopScreen(bool in_place);
  ~TopScreen() { Leave(); }
  TopScreen(const TopScreen&) = delete;
  TopScreen& operator=(const TopScreen&) = delete;

  // Waits until that much time has passed; false if asked to end. A stop by Ctrl-Z gives the terminal back meanwhile.
  bool Wait(Nanos span);
  // Shows `text` in place of what was shown: as many of its lines as there is room for.
  void Draw(const std::string& text);
  // Columns of the terminal, now. 100 where it is no terminal.
  [[nodiscard]] int Columns() const;
  // Gives the terminal back. A second call does nothing.
  void Leave();

 private:
  // Takes the terminal.
  void Enter();
  // Whether the signal asks to end. A stop is served here.
  bool Ends(int signal);
  // These take what has come. False if it asks to end.
  [[nodiscard]] bool TakeSignals();
  [[nodiscard]] bool TakeKeys();

  bool in_place_;
  HeldSignals signals_;
  bool entered_ = false;
  // Standard input is a terminal: single keys are read from it.
  bool keys_ = false;
  termios before_{};
};

}  // namespace idleburn
