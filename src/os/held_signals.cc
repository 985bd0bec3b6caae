#include "os/held_signals.h"

#include <poll.h>
#include <sys/mman.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <cstddef>
#include <ctime>

namespace idleburn {
// A signalfd instead of a handler: the signal arrives in an ordinary loop, where everything may be called.
HeldSignals::HeldSignals(const std::vector<int>& signals) {
  sigset_t set;
  sigemptyset(&set);
  for (const int signal : signals) sigaddset(&set, signal);
  struct sigaction action {};
  sigaction(SIGHUP, nullptr, &action);
  if (action.sa_handler == SIG_IGN) sigdelset(&set, SIGHUP);
  pthread_sigmask(SIG_BLOCK, &set, nullptr);
  fd_ = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
}

HeldSignals::~HeldSignals() {
  if (fd_ >= 0) close(fd_);
}

std::optional<int> HeldSignals::Take() const {
  signalfd_siginfo info{};
  if (read(fd_, &info, sizeof info) != static_cast<ssize_t>(sizeof info)) return std::nullopt;
  return static_cast<int>(info.ssi_signo);
}

bool HeldSignals::Wait(std::optional<Nanos> time) const {
  const Nanos until = MonotonicNow() + time.value_or(Nanos(0));
  while (!Take()) {
    const int left = time ? MillisecondsUntil(until) : -1;
    if (left == 0) return false;
    pollfd wait = {fd_, POLLIN, 0};
    poll(&wait, 1, left);
  }
  return true;
}

int MillisecondsUntil(Nanos monotonic) {
  constexpr std::int64_t kMillisecond = 1'000'000;
  constexpr std::int64_t kMost = 1'000'000'000;  // poll() is asked again after eleven days
  const std::int64_t left = (monotonic - MonotonicNow()).count();
  return static_cast<int>(std::clamp<std::int64_t>((left + kMillisecond - 1) / kMillisecond, 0, kMost));
}

Nanos MonotonicNow() {
  timespec now{};
  clock_gettime(CLOCK_MONOTONIC, &now);
  return Nanos(now.tv_sec * kNanosPerSecond + now.tv_nsec);
}

namespace {

constexpr std::size_t kSize = 64 * 1024;  // the registers of the largest processors take 11 KiB of it

}  // namespace

// Memory of its own from the kernel, apart from the heap, which may be what is broken when the stack is used.
SignalStack::SignalStack() {
  stack_t before{};
  if (sigaltstack(nullptr, &before) != 0 || (before.ss_flags & SS_DISABLE) == 0) return;
  void* memory = mmap(nullptr, kSize, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) return;
  stack_t stack{};
  stack.ss_sp = memory;
  stack.ss_size = kSize;
  if (sigaltstack(&stack, nullptr) == 0) {
    memory_ = memory;
  } else {
    munmap(memory, kSize);
  }
}

SignalStack::~SignalStack() {
  if (memory_ == nullptr) return;
  stack_t none{};
  none.ss_flags = SS_DISABLE;
  sigaltstack(&none, nullptr);
  munmap(memory_, kSize);
}

}  // namespace idleburn
