#include "watch/held_stretch.h"

#include <gtest/gtest.h>

namespace idleburn {
namespace {

constexpr std::int64_t kMiB = std::int64_t{1} << 20;

// A GPU whose readings are fed by hand; times are in seconds.
struct Gpu {
  Thresholds thresholds;
  HeldStretch stretch{thresholds};

  static Instant At(double seconds) { return Instant::FromNanos(static_cast<std::int64_t>(seconds * 1e9)); }
  void Feed(double at, Signal signal, std::int64_t value) {
    Sample s;
    s.time = At(at);
    s.Set(signal, value);
    stretch.Feed(s);
  }
  void Lacks(double at, Signal signal) {
    Sample s;
    s.time = At(at);
    s.SetUnavailable(signal, Unobserved::kStale);
    stretch.Feed(s);
  }
  // Ten readings a second over [from, to), with the number of processes each second.
  void Run(int from, int to, std::int64_t percent, std::int64_t processes = 1) {
    for (int second = from; second < to; ++second) {
      if (processes >= 0) Feed(second, Signal::kProcesses, processes);
      for (int tick = 0; tick < 10; ++tick) {
        Feed(second + tick / 10.0, Signal::kUtilization, percent * kPercent);
      }
    }
  }
  [[nodiscard]] double Held() const { return static_cast<double>(stretch.held().count()) / 1e9; }
  [[nodiscard]] double Idle() const { return static_cast<double>(stretch.idle().count()) / 1e9; }
};

TEST(HeldStretch, WholeSecondsOfIdlenessAddUp) {
  Gpu gpu;
  gpu.Run(100, 104, 0);
  EXPECT_EQ(gpu.Held(), 3);  // the fourth is still open
  gpu.Feed(104, Signal::kUtilization, 0);
  EXPECT_EQ(gpu.Held(), 4);
  EXPECT_EQ(gpu.stretch.held_since(), Gpu::At(100));
}

TEST(HeldStretch, TheMeanOfASecondDecidesAndTenPercentIsActive) {
  Gpu gpu;
  for (int second = 0; second < 3; ++second) {  // 19 and 0: 9.5 %
    gpu.Feed(second, Signal::kProcesses, 1);
    gpu.Feed(second + 0.3, Signal::kUtilization, 19 * kPercent);
    gpu.Feed(second + 0.6, Signal::kUtilization, 0);
  }
  EXPECT_NEAR(gpu.Held(), 2 - 0.3, 1e-9);
  gpu.Run(3, 5, 10);
  EXPECT_EQ(gpu.Held(), 0);
}

TEST(HeldStretch, OneActiveSecondBeginsANewStretch) {
  Gpu gpu;
  gpu.Run(0, 60, 0);
  gpu.Run(60, 61, 50);
  gpu.Run(61, 65, 0);
  EXPECT_EQ(gpu.Held(), 3);
  EXPECT_EQ(gpu.stretch.held_since(), Gpu::At(61));
}

TEST(HeldStretch, AGpuThatRenewsOnceASecondHasNoHoles) {
  Gpu gpu;
  gpu.Feed(0, Signal::kProcesses, 2);
  for (int i = 0; i < 10; ++i) gpu.Feed(1.017 * i + 0.98, Signal::kUtilization, 0);  // skips a second now and then
  EXPECT_NEAR(gpu.Held(), 10 - 0.98, 1e-9);
}

TEST(HeldStretch, ASilenceIsNotIdle) {
  Gpu gpu;
  gpu.Run(0, 30, 0);
  gpu.Run(33, 35, 0);
  EXPECT_EQ(gpu.Held(), 1);
  EXPECT_EQ(gpu.stretch.held_since(), Gpu::At(33));
}

TEST(HeldStretch, AReadingThatCouldNotBeHadIsNotIdle) {
  Gpu gpu;
  gpu.Run(0, 30, 0);
  gpu.Lacks(30, Signal::kUtilization);
  EXPECT_EQ(gpu.Held(), 0);
  EXPECT_EQ(gpu.Idle(), 0);
}

TEST(HeldStretch, TimeThatGoesBackIsNotIdle) {
  Gpu gpu;
  gpu.Run(100, 130, 0);
  gpu.Run(50, 53, 0);
  EXPECT_EQ(gpu.Held(), 2);
  gpu.Run(500, 503, 0);  // and forward
  EXPECT_EQ(gpu.Held(), 2);
}

TEST(HeldStretch, WithoutAWordAboutWhoHoldsItItIsActive) {
  Gpu gpu;
  gpu.Run(0, 30, 0, -1);
  EXPECT_EQ(gpu.Held(), 0);
  EXPECT_EQ(gpu.Idle(), 0);
  gpu.Feed(30, Signal::kProcesses, 1);
  gpu.Run(30, 45, 0, -1);
  EXPECT_EQ(gpu.Held(), 15);  // from second 29 on: it was closed after the word came
  gpu.Run(45, 50, 0, -1);     // an old word is none
  EXPECT_EQ(gpu.Held(), 0);
}

TEST(HeldStretch, ProcessesCountBeforeMemoryAndMemoryFromAFloor) {
  Gpu empty;
  empty.Feed(0, Signal::kMemoryUsed, 40 * 1024 * kMiB);
  empty.Run(0, 5, 0, 0);
  EXPECT_EQ(empty.Held(), 0);
  EXPECT_EQ(empty.Idle(), 4);
  Gpu held;
  held.Feed(0, Signal::kMemoryUsed, 100 * kMiB);
  held.Run(0, 5, 0, -1);
  EXPECT_EQ(held.Held(), 4);
  Gpu driver_only;
  driver_only.Feed(0, Signal::kMemoryUsed, 100 * kMiB - 1);
  driver_only.Run(0, 5, 0, -1);
  EXPECT_EQ(driver_only.Held(), 0);
  EXPECT_EQ(driver_only.Idle(), 4);
}

TEST(HeldStretch, AnEngineCounterServesUntilThereIsAUtilization) {
  Gpu gpu;
  gpu.Feed(0, Signal::kProcesses, 1);
  for (int i = 0; i < 8; ++i) gpu.Feed(0.5 * i, Signal::kGrEngineActive, 0);
  EXPECT_EQ(gpu.Held(), 3);
  gpu.Feed(4.0, Signal::kUtilization, 90 * kPercent);
  EXPECT_EQ(gpu.Held(), 0);
  gpu.Feed(5.0, Signal::kGrEngineActive, 0);
  gpu.Feed(5.5, Signal::kUtilization, 90 * kPercent);
  gpu.Feed(6.5, Signal::kUtilization, 90 * kPercent);
  EXPECT_EQ(gpu.Held(), 0);
}

TEST(HeldStretch, AnEngineCounterOfZeroAtHighPowerIsBroken) {
  Gpu gpu;
  gpu.thresholds.idle_power = 70'000;
  gpu.Feed(0, Signal::kProcesses, 1);
  gpu.Feed(0, Signal::kPower, 300'000);
  for (int i = 0; i < 8; ++i) gpu.Feed(0.5 * i, Signal::kGrEngineActive, 0);
  EXPECT_EQ(gpu.Held(), 0);
  // Without an idle power by the board's limit, of which no idle one draws more than 35 %.
  for (const int watts : {246, 245}) {
    Gpu limited;
    limited.Feed(0, Signal::kProcesses, 1);
    limited.Feed(0, Signal::kPowerLimit, 700'000);
    limited.Feed(0, Signal::kPower, watts * 1000);
    for (int i = 0; i < 8; ++i) limited.Feed(0.5 * i, Signal::kGrEngineActive, 0);
    EXPECT_EQ(limited.Held(), watts == 246 ? 0 : 3) << watts;
  }
}

TEST(HeldStretch, UtilizationOfZeroAtHighPowerIsNoIdleGpu) {
  for (const int watts : {246, 245}) {
    Gpu gpu;
    gpu.Feed(0, Signal::kProcesses, 1);
    gpu.Feed(0, Signal::kPowerLimit, 700'000);
    gpu.Feed(0, Signal::kPower, watts * 1000);
    for (int i = 0; i < 8; ++i) gpu.Feed(0.5 * i, Signal::kUtilization, 0);
    EXPECT_EQ(gpu.Held(), watts == 246 ? 0 : 3) << watts;
  }
}

}  // namespace
}  // namespace idleburn
