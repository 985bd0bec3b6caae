#include "agent/host_pressure.h"

#include <gtest/gtest.h>

namespace idleburn {
namespace {

constexpr std::int64_t kStart = 1'790'000'000;

// A host of eight CPUs that is read ten times a second, and its CPU time once a second, as the agent does.
class HostPressureTest : public ::testing::Test {
 protected:
  // One second in which tasks waited for these shares, and so many cores were busy.
  void Pass(double cpu_some, double io_full, double busy) {
    for (int tick = 0; tick < 10; ++tick) {
      now_ += kNanosPerSecond / 10;
      cpu_ += static_cast<std::int64_t>(cpu_some * 1e8);
      io_ += static_cast<std::int64_t>(io_full * 1e8);
      busy_ += static_cast<std::int64_t>(busy * 1e8);
      HostSample sample;
      sample.Set(HostSignal::kPsiCpuSome, cpu_);
      sample.Set(HostSignal::kPsiIoFull, io_);
      if (tick == 0) {
        sample.Set(HostSignal::kCpuTime, busy_);
        sample.Set(HostSignal::kCpus, 8);
      }
      pressure_.Feed(sample, now_);
    }
  }
  PressedSecond Take(std::int64_t ago) { return pressure_.Take(FloorSecond(now_) - ago); }

  HostPressure pressure_;
  std::int64_t now_ = kStart * kNanosPerSecond;
  std::int64_t cpu_ = 0, io_ = 0, busy_ = 0;
};

TEST_F(HostPressureTest, TellsTheSecondInWhichTasksWaited) {
  for (int s = 0; s < 5; ++s) Pass(0.0, 0.0, 8);
  Pass(0.9, 0.3, 8);
  Pass(0.0, 0.0, 8);
  EXPECT_FALSE(Take(3).cpu);
  const PressedSecond pressed = Take(2);
  EXPECT_TRUE(pressed.cpu);
  EXPECT_TRUE(pressed.io);
  EXPECT_FALSE(Take(1).cpu);
}

TEST_F(HostPressureTest, ACoreToSpareRefutesAWaitForCpus) {
  for (int s = 0; s < 6; ++s) Pass(0.9, 0.09, 6);
  EXPECT_FALSE(Take(2).cpu);
  EXPECT_FALSE(Take(1).io) << "9 % is below the limit";
}

TEST_F(HostPressureTest, SecondsWithoutReadingsAreNotUnderPressure) {
  for (int s = 0; s < 3; ++s) Pass(1.0, 1.0, 8);
  now_ += 10 * kNanosPerSecond;  // nothing is read
  cpu_ += 10 * kNanosPerSecond;
  Pass(1.0, 1.0, 8);
  for (int ago = 9; ago > 2; --ago) EXPECT_FALSE(Take(ago).cpu) << ago;
}

TEST_F(HostPressureTest, TakesUpAgainAfterTheClockWasSetBack) {
  for (int s = 0; s < 3; ++s) Pass(1.0, 1.0, 8);
  now_ -= 100 * kNanosPerSecond;
  for (int s = 0; s < 4; ++s) Pass(1.0, 1.0, 8);
  EXPECT_TRUE(Take(1).io);
}

}  // namespace
}  // namespace idleburn
