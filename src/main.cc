#include <fcntl.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "cli/command.h"

namespace {

// A file of ours that got the number of a closed descriptor would be written our messages. What holds the number
// instead can be neither read nor written, as if it were closed still, and a program that we start finds it closed.
void HoldClosedDescriptors() {
  for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; ++fd) {
    if (fcntl(fd, F_GETFD) < 0) static_cast<void>(open("/", O_PATH | O_CLOEXEC));
  }
}

// The locale by POSIX's order of its variables. Where none is set, as in most containers, terminals show UTF-8.
bool SaysUtf8() {
  for (const char* name : {"LC_ALL", "LC_CTYPE", "LANG"}) {
    const char* locale = std::getenv(name);
    if (locale == nullptr || *locale == '\0') continue;
    return strcasestr(locale, "UTF-8") != nullptr || strcasestr(locale, "utf8") != nullptr;
  }
  return true;
}

}  // namespace

int main(int argc, char** argv) {
  HoldClosedDescriptors();
#if defined(__x86_64__)  // what the program is compiled for
  if (__builtin_cpu_supports("sse4.2") == 0 || __builtin_cpu_supports("popcnt") == 0) {
    std::fputs("idleburn: this processor has no SSE4.2 and POPCNT (x86-64-v2); run it on a newer one\n", stderr);
    return 1;
  }
#endif
  idleburn::Environment environment;
  environment.now = idleburn::Instant::FromNanos(
      std::chrono::nanoseconds(std::chrono::system_clock::now().time_since_epoch()).count());
  environment.terminal_out = isatty(STDOUT_FILENO) == 1;
  environment.terminal_err = isatty(STDERR_FILENO) == 1;
  const char* no_color = std::getenv("NO_COLOR");
  environment.no_color = no_color != nullptr && *no_color != '\0';  // as no-color.org has it
  environment.utf8 = SaysUtf8();
  winsize size{};
  if (ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0) environment.columns = size.ws_col;
  if (ioctl(STDERR_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0) environment.columns_err = size.ws_col;
  return idleburn::RunProgram({argv + 1, argv + argc}, environment);
}
