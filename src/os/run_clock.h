#pragma once

#include <memory>
#include <stop_token>

#include "base/time.h"

namespace idleburn {

// Time as an argument: clocks that tests can replace, and the time line of a run. Live measuring takes the time from
// a RunClock, so a test can let an hour pass at once.

// The clocks of a machine, all read at nearly the same time.
struct ClockReading {
  Nanos monotonic{0};  // CLOCK_MONOTONIC: nobody can set it; it stops while the machine sleeps
  Nanos boot{0};       // CLOCK_BOOTTIME: nobody can set it; it continues while the machine sleeps
  Instant wall;        // CLOCK_REALTIME: may be set at any time
};

// The source of time. A test has one that it moves by hand. Any thread may call any function.
class RunClock {
 public:
  RunClock() = default;
  RunClock(const RunClock&) = delete;
  RunClock& operator=(const RunClock&) = delete;
  virtual ~RunClock() = default;

  // All clocks at once, for a start or a check of the wall clock.
  virtual ClockReading Read() = 0;
  // The monotonic clock alone, which is cheaper.
  virtual Nanos Monotonic() = 0;
  // Sleeps until that monotonic time. When asked to stop, it returns within about 0.1 s.
  virtual void SleepUntil(Nanos monotonic, const std::stop_token& stop) = 0;
};

// The clocks of this machine.
std::shared_ptr<RunClock> SystemClock();

// The time line of a run. It starts at the wall clock's time and continues at the pace of the monotonic clock.
// Setting the wall clock later does not move it. For example, a run that starts at 10:00:00 and has measured for 5 s
// is at 10:00:05, even if the wall clock was set to 09:00 meanwhile.
class TimeLine {
 public:
  explicit TimeLine(const ClockReading& start) : offset_(start.wall.nanos() - start.monotonic.count()) {}
  // The instant at a monotonic time.
  [[nodiscard]] Instant At(Nanos monotonic) const { return Instant::FromNanos(offset_ + monotonic.count()); }
  // The instant of a wall-clock stamp, given the clocks at the time when the stamp was read. It is as long before the
  // reading on the time line as it is on the wall clock.
  [[nodiscard]] Instant Place(Instant stamp, const ClockReading& read) const {
    return At(read.monotonic) + (stamp - read.wall);
  }

 private:
  std::int64_t offset_;
};

}  // namespace idleburn
