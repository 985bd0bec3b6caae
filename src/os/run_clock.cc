#include "os/run_clock.h"

#include <cerrno>
#include <chrono>
#include <condition_variable>
#include <ctime>
#include <mutex>

namespace idleburn {
namespace {

// The time of a clock of the kernel, in nanoseconds.
std::int64_t Clock(clockid_t id) {
  timespec t{};
  clock_gettime(id, &t);
  return static_cast<std::int64_t>(t.tv_sec) * kNanosPerSecond + t.tv_nsec;
}

// A plain sleep costs half as much as one that can be woken. So a sleep of up to this length is plain, and this is
// also how long a stop may take. A longer sleep can be woken.
constexpr Nanos kPlainSleep(110'000'000);

// The clocks of Linux.
class MachineClock : public RunClock {
 public:
  ClockReading Read() override {
    return {Nanos(Clock(CLOCK_MONOTONIC)), Nanos(Clock(CLOCK_BOOTTIME)), Instant::FromNanos(Clock(CLOCK_REALTIME))};
  }
  Nanos Monotonic() override { return Nanos(Clock(CLOCK_MONOTONIC)); }
  // Absolute times throughout: a sleep that is interrupted continues to the same moment.
  void SleepUntil(Nanos monotonic, const std::stop_token& stop) override {
    if (monotonic - Monotonic() > kPlainSleep) {
      std::mutex mutex;
      std::condition_variable_any stopped;
      std::unique_lock lock(mutex);
      // steady_clock is CLOCK_MONOTONIC on Linux.
      stopped.wait_until(lock, stop, std::chrono::steady_clock::time_point(monotonic), [] { return false; });
      return;
    }
    const timespec until = {monotonic.count() / kNanosPerSecond, monotonic.count() % kNanosPerSecond};
    while (!stop.stop_requested() && clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &until, nullptr) == EINTR) {
    }
  }
};

}  // namespace

std::shared_ptr<RunClock> SystemClock() { return std::make_shared<MachineClock>(); }

}  // namespace idleburn
