#pragma once

#include <memory>
#include <stop_token>

#include "base/time.h"

namespace idleburn {

// The clocks of a machine, read one right after the other.
struct ClockReading {
  Nanos monotonic{0};  // never set, stands still while the machine sleeps
  Nanos boot{0};       // never set, goes on while the machine sleeps
  Instant wall;        // may be set at any time
};

// Where time comes from; a test has one that it moves by hand. Every function may be called from any thread.
class RunClock {
 public:
  RunClock() = default;
  RunClock(const RunClock&) = delete;
  RunClock& operator=(const RunClock&) = delete;
  virtual ~RunClock() = default;

  virtual ClockReading Read() = 0;
  virtual Nanos Monotonic() = 0;
  // Returns at that monotonic time; when asked to stop, within about a tenth of a second.
  virtual void SleepUntil(Nanos monotonic, const std::stop_token& stop) = 0;
};

// The clocks of this machine.
std::shared_ptr<RunClock> SystemClock();

// The time line of a run: it starts at the wall clock's time and goes on at the pace of the monotonic clock. That
// somebody sets the wall clock later moves nothing.
class TimeLine {
 public:
  explicit TimeLine(const ClockReading& start) : offset_(start.wall.nanos() - start.monotonic.count()) {}
  [[nodiscard]] Instant At(Nanos monotonic) const { return Instant::FromNanos(offset_ + monotonic.count()); }
  // Where a wall-clock stamp stands, given the clocks as they read when it was got.
  [[nodiscard]] Instant Place(Instant stamp, const ClockReading& read) const {
    return At(read.monotonic) + (stamp - read.wall);
  }

 private:
  std::int64_t offset_;
};

}  // namespace idleburn
