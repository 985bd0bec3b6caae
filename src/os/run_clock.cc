#include "os/run_clock.h"

#include <time.h>

#include <chrono>
#include <condition_variable>
#include <mutex>

namespace idleburn {
namespace {

std::int64_t Clock(clockid_t id) {
  timespec t{};
  clock_gettime(id, &t);
  return static_cast<std::int64_t>(t.tv_sec) * kNanosPerSecond + t.tv_nsec;
}

class MachineClock : public RunClock {
 public:
  ClockReading Read() override {
    return {Nanos(Clock(CLOCK_MONOTONIC)), Nanos(Clock(CLOCK_BOOTTIME)), Instant::FromNanos(Clock(CLOCK_REALTIME))};
  }
  Nanos Monotonic() override { return Nanos(Clock(CLOCK_MONOTONIC)); }
  // steady_clock is CLOCK_MONOTONIC on Linux.
  void SleepUntil(Nanos monotonic, const std::stop_token& stop) override {
    std::mutex mutex;
    std::condition_variable_any stopped;
    std::unique_lock lock(mutex);
    stopped.wait_until(lock, stop, std::chrono::steady_clock::time_point(monotonic), [] { return false; });
  }
};

}  // namespace

std::shared_ptr<RunClock> SystemClock() { return std::make_shared<MachineClock>(); }

}  // namespace idleburn
