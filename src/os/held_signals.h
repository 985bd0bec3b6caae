#pragma once

#include <optional>
#include <vector>

#include "base/time.h"

namespace idleburn {
// Signals that are waited for instead of acting by themselves. The constructor blocks them in this thread, in all
// threads that are started afterwards, and for good: the destructor does not unblock them. So a recorder can finish
// its file when it is asked to end. SIGHUP is left alone if it is ignored, as under nohup.
class HeldSignals {
 public:
  explicit HeldSignals(const std::vector<int>& signals);
  ~HeldSignals();
  HeldSignals(const HeldSignals&) = delete;
  HeldSignals& operator=(const HeldSignals&) = delete;

  // A file descriptor for poll(), readable when a signal has come.
  [[nodiscard]] int fd() const { return fd_; }
  // The next signal that has come. Absent if none has; never waits.
  [[nodiscard]] std::optional<int> Take() const;
  // Waits for a signal and takes it. False if `time` passes without one; without a time it waits forever.
  [[nodiscard]] bool Wait(std::optional<Nanos> time) const;

 private:
  int fd_ = -1;
};

// How long poll() may wait until a time of CLOCK_MONOTONIC: milliseconds, rounded up; 0 once it has come. At most
// eleven days, so a caller that waits longer must ask again.
int MillisecondsUntil(Nanos monotonic);
// The time of CLOCK_MONOTONIC.
Nanos MonotonicNow();

// An extra stack for the signal handlers of this thread (sigaltstack). With it a handler can run after the thread's
// own stack overflowed, which the crash guard needs. Create it in the thread that it serves, and destroy it there. A
// thread that already has such a stack keeps it. If there is no memory, the thread goes on without one.
class SignalStack {
 public:
  SignalStack();
  ~SignalStack();
  SignalStack(const SignalStack&) = delete;
  SignalStack& operator=(const SignalStack&) = delete;

 private:
  void* memory_ = nullptr;
};

}  // namespace idleburn
