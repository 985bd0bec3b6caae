// Loaded before the program (LD_PRELOAD) where its output is held byte for byte: the wall clock stands at
// $FIXED_CLOCK, in Unix seconds, random bytes repeat in every program that has it, the machine is called "machine", and
// getcwd answers /proc/self/cwd. The clocks that measure spans of time run.
#include <sys/random.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <ctime>

namespace {

std::int64_t FixedSeconds() {
  const char* seconds = std::getenv("FIXED_CLOCK");
  return seconds == nullptr ? 0 : std::strtoll(seconds, nullptr, 10);
}

}  // namespace

// Parameters have names of ours: those of the system's headers are reserved.
// NOLINTBEGIN(readability-inconsistent-declaration-parameter-name)
extern "C" {

int clock_gettime(clockid_t clock, timespec* now) noexcept {
  if (clock != CLOCK_REALTIME && clock != CLOCK_REALTIME_COARSE) {
    return static_cast<int>(syscall(SYS_clock_gettime, clock, now));
  }
  *now = {FixedSeconds(), 0};
  return 0;
}

int gettimeofday(timeval* now, void* /*zone*/) noexcept {
  *now = {FixedSeconds(), 0};
  return 0;
}

time_t time(time_t* now) noexcept {
  if (now != nullptr) *now = FixedSeconds();
  return FixedSeconds();
}

ssize_t getrandom(void* bytes, size_t size, unsigned int /*flags*/) {
  static std::atomic<unsigned> calls = 0;
  unsigned state = static_cast<unsigned>(FixedSeconds()) + 7919 * ++calls;
  for (size_t i = 0; i < size; ++i) {
    state = state * 1664525U + 1013904223U;  // Numerical Recipes' generator
    static_cast<unsigned char*>(bytes)[i] = static_cast<unsigned char>(state >> 24U);
  }
  return static_cast<ssize_t>(size);
}

int gethostname(char* name, size_t size) noexcept {
  strncpy(name, "machine", size);
  return 0;
}

char* getcwd(char* name, size_t size) noexcept {
  static constexpr char kOwn[] = "/proc/self/cwd";
  if (name == nullptr) return strdup(kOwn);
  if (size < sizeof kOwn) {
    errno = ERANGE;
    return nullptr;
  }
  return strcpy(name, kOwn);
}

}  // extern "C"
// NOLINTEND(readability-inconsistent-declaration-parameter-name)
