#include <sys/ioctl.h>
#include <unistd.h>

#include <chrono>
#include <cstdlib>

#include "cli/command.h"

int main(int argc, char** argv) {
  idleburn::Environment environment;
  environment.now = idleburn::Instant::FromNanos(
      std::chrono::nanoseconds(std::chrono::system_clock::now().time_since_epoch()).count());
  environment.terminal_out = isatty(STDOUT_FILENO) == 1;
  environment.terminal_err = isatty(STDERR_FILENO) == 1;
  environment.no_color = std::getenv("NO_COLOR") != nullptr;
  winsize size{};
  if (ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0) environment.columns = size.ws_col;
  return idleburn::RunProgram({argv + 1, argv + argc}, environment);
}
