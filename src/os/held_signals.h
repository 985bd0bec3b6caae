#pragma once

#include <optional>
#include <vector>

#include "base/time.h"

namespace idleburn {

// Signals that do not act by themselves but are waited for: held back from the constructor on, in all threads that are
// started afterwards, and for good. SIGHUP is left alone where it is ignored, as nohup has it.
class HeldSignals {
 public:
  explicit HeldSignals(const std::vector<int>& signals);
  ~HeldSignals();
  HeldSignals(const HeldSignals&) = delete;
  HeldSignals& operator=(const HeldSignals&) = delete;

  // Readable when one has come.
  [[nodiscard]] int fd() const { return fd_; }
  // The next that has come; none if there is none.
  [[nodiscard]] std::optional<int> Take() const;
  // Whether one came, and when it does; false after that time. Absent: never without one.
  [[nodiscard]] bool Wait(std::optional<Nanos> time) const;

 private:
  int fd_ = -1;
};

// How long poll() may wait for that moment, rounded up; 0 once it has come.
int MillisecondsUntil(Nanos monotonic);
// CLOCK_MONOTONIC.
Nanos MonotonicNow();

}  // namespace idleburn
