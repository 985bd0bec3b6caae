#include "os/run_clock.h"

#include <gtest/gtest.h>

#include <thread>

namespace idleburn {
namespace {

TEST(RunClock, SleepsUntilTheTimeAndNotShorter) {
  const auto clock = SystemClock();
  const Nanos until = clock->Monotonic() + Nanos(20'000'000);
  clock->SleepUntil(until, {});
  EXPECT_GE(clock->Monotonic(), until);
}

TEST(RunClock, SleepEndsWhenAskedTo) {
  const auto clock = SystemClock();
  std::stop_source stop;
  const Nanos until = clock->Monotonic() + Nanos(3600 * kNanosPerSecond);
  const std::jthread asks([&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
    stop.request_stop();
  });
  clock->SleepUntil(until, stop.get_token());
  EXPECT_LT(clock->Monotonic(), until);
}

TEST(TimeLine, GoesOnFromItsStartAndPlacesStampsOfAClockThatWasSet) {
  const TimeLine line({Nanos(100), Nanos(100), Instant::FromNanos(5'000)});
  EXPECT_EQ(line.At(Nanos(150)).nanos(), 5'050);
  // The wall clock was set forward by 1000; something stamped 10 ago stands 10 ago.
  const ClockReading later = {Nanos(200), Nanos(200), Instant::FromNanos(6'100)};
  EXPECT_EQ(line.Place(Instant::FromNanos(6'090), later).nanos(), 5'090);
}

}  // namespace
}  // namespace idleburn
