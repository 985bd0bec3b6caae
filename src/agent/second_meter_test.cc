#include "agent/second_meter.h"

#include <gtest/gtest.h>

#include <random>

#include "classify/run_classifier.h"

namespace idleburn {
namespace {

constexpr std::int64_t kStart = 1'790'000'000;  // a UTC second
constexpr std::int64_t kTick = 100'000'000;

Sample At(std::int64_t ns, std::int64_t percent) {
  Sample sample;
  sample.time = Instant::FromNanos(ns);
  sample.Set(Signal::kUtilization, percent * kPercent);
  return sample;
}

class SecondMeterTest : public ::testing::Test {
 protected:
  void Feed(const Sample& sample) { meter_.Feed(sample, sample.time.nanos()); }
  // Ten readings of one second.
  void FeedSecond(std::int64_t second, std::int64_t percent) {
    for (int i = 0; i < 10; ++i) Feed(At(second * kNanosPerSecond + i * kTick, percent));
  }
  static void ExpectWhole(const GpuSecond& second) {
    std::int64_t phases = 0, reasons = 0, idle = 0;
    for (const std::int64_t ms : second.phase_ms) phases += ms;
    for (const std::int64_t ms : second.reason_ms) reasons += ms;
    for (const std::int64_t ms : second.idle_ms) idle += ms;
    EXPECT_EQ(phases, 1000);
    EXPECT_EQ(reasons, second.phase_ms[kUnobservedPhase]);
    EXPECT_EQ(idle, second.phase_ms[0]);
  }
  Thresholds thresholds_;
  SecondMeter meter_{thresholds_};
};

TEST_F(SecondMeterTest, ASecondHasThePhaseOfItsMean) {
  for (int i = 0; i < 10; ++i) Feed(At(kStart * kNanosPerSecond + i * kTick, i < 5 ? 100 : 50));
  const GpuSecond second = meter_.Close(kStart);
  EXPECT_EQ(second.phase_ms[2], 1000);  // 75 % is productive
  EXPECT_EQ(second.decile, 7U);
  EXPECT_EQ(second.busy_us, 750'000);
  ExpectWhole(second);
}

TEST_F(SecondMeterTest, SilenceIsUnobservedAfterTwoAndAHalfIntervals) {
  FeedSecond(kStart, 100);
  meter_.Close(kStart);
  const GpuSecond next = meter_.Close(kStart + 1);
  EXPECT_EQ(next.phase_ms[3], 150);  // the last reading at .9 s holds for .25 s
  EXPECT_EQ(next.reason_ms[0], 850);
  ExpectWhole(next);
  EXPECT_EQ(meter_.Close(kStart + 2).phase_ms[kUnobservedPhase], 1000);
}

TEST_F(SecondMeterTest, AReasonThatTheSourceGaveIsKept) {
  FeedSecond(kStart, 100);
  Sample stale;
  stale.time = Instant::FromNanos((kStart + 1) * kNanosPerSecond);
  stale.SetUnavailable(Signal::kUtilization, Unobserved::kStale);
  Feed(stale);
  meter_.Close(kStart);
  const GpuSecond second = meter_.Close(kStart + 1);
  EXPECT_EQ(second.reason_ms[static_cast<std::size_t>(Unobserved::kStale)], 1000);
  ExpectWhole(second);
}

TEST_F(SecondMeterTest, ALostGpuIsDriverGone) {
  FeedSecond(kStart, 100);
  meter_.Close(kStart);
  meter_.set_gone(true);
  EXPECT_EQ(meter_.Close(kStart + 1).reason_ms[kDriverGone], 1000);
}

TEST_F(SecondMeterTest, AMinuteOfZeroAtFullPowerIsABrokenCounter) {
  std::int64_t idle = 0;
  for (std::int64_t s = 0; s < 90; ++s) {
    Sample sample = At((kStart + s) * kNanosPerSecond, 0);
    sample.Set(Signal::kPower, 650'000);
    sample.Set(Signal::kPowerLimit, 700'000);
    Feed(sample);
    const GpuSecond second = meter_.Close(kStart + s);
    ExpectWhole(second);
    idle += second.phase_ms[0];
  }
  EXPECT_EQ(idle, 59'000);
}

TEST_F(SecondMeterTest, BusyWithLittleSmActivityIsSpinWait) {
  std::int64_t spin = 0;
  for (std::int64_t s = 0; s < 30; ++s) {
    Sample sample = At((kStart + s) * kNanosPerSecond, 100);
    sample.Set(Signal::kSmActive, 5 * kPercent);
    Feed(sample);
    spin += meter_.Close(kStart + s).spin_ms;
  }
  EXPECT_GE(spin, 25'000);
  EXPECT_LE(spin, 30'000);
}

// 1200 of 1500 MHz while a slowdown is reported: a fifth of the busy time is lost, for 26 of 30 seconds so far.
TEST_F(SecondMeterTest, SlowedClocksLoseTime) {
  std::int64_t slowed = 0, lost = 0;
  for (std::int64_t s = 0; s < 30; ++s) {
    Sample sample = At((kStart + s) * kNanosPerSecond, 50);
    sample.Set(Signal::kMaxSmClock, 1'500'000);
    sample.Set(Signal::kSmClock, 1'200'000);
    sample.Set(Signal::kEventReasons, 0x40);
    Feed(sample);
    const GpuSecond second = meter_.Close(kStart + s);
    slowed += second.slowed_ms;
    lost += second.clock_lost_ms;
  }
  EXPECT_EQ(slowed, 26'000);
  EXPECT_NEAR(static_cast<double>(lost), 26'000 * 0.5 * 0.2, 30);
}

// A board at its usual power cap runs as it should. One at a lowered cap does not.
TEST_F(SecondMeterTest, APowerCapCountsOnlyWhereSomebodyLoweredIt) {
  for (const std::int64_t limit : {700'000, 400'000}) {
    SecondMeter meter(thresholds_);
    std::int64_t slowed = 0;
    for (std::int64_t s = 0; s < 10; ++s) {
      Sample sample = At((kStart + s) * kNanosPerSecond, 100);
      sample.Set(Signal::kMaxSmClock, 1'500'000);
      sample.Set(Signal::kSmClock, 1'000'000);
      sample.Set(Signal::kEventReasons, 0x4);
      sample.Set(Signal::kPowerLimit, limit);
      sample.Set(Signal::kPowerDefaultLimit, 700'000);
      meter.Feed(sample, sample.time.nanos());
      slowed += meter.Close(kStart + s).slowed_ms;
    }
    EXPECT_EQ(slowed, limit == 700'000 ? 0 : 6'000);
  }
}

// A GPU that waits loses nothing by a slow clock.
TEST_F(SecondMeterTest, SpinWaitIsNotSlowedToo) {
  std::int64_t spin = 0, slowed = 0;
  for (std::int64_t s = 0; s < 60; ++s) {
    Sample sample = At((kStart + s) * kNanosPerSecond, 100);
    sample.Set(Signal::kSmActive, (s < 30 ? 5 : 80) * kPercent);
    sample.Set(Signal::kMaxSmClock, 1'500'000);
    sample.Set(Signal::kSmClock, 1'000'000);
    sample.Set(Signal::kEventReasons, 0x40);
    Feed(sample);
    const GpuSecond second = meter_.Close(kStart + s);
    EXPECT_EQ(second.spin_ms > 0 && second.slowed_ms > 0, false) << s;
    spin += second.spin_ms;
    slowed += second.slowed_ms;
  }
  EXPECT_EQ(spin, 30'000);
  EXPECT_EQ(slowed, 26'000);
}

TEST_F(SecondMeterTest, ALinkIsFullAtThreeFifthsOfItsSpeed) {
  meter_.set_link_speed(10'000'000'000);
  for (const std::int64_t gigabytes : {5, 6, 9}) {
    const std::int64_t second = kStart + gigabytes;
    Sample sample = At(second * kNanosPerSecond, 50);
    sample.Set(Signal::kPcieRx, gigabytes * 1'000'000'000);
    Feed(sample);
    EXPECT_EQ(meter_.Close(second).link_full, gigabytes >= 6);
    EXPECT_TRUE(meter_.CanTell(JobSignal::kPcieFull, second * kNanosPerSecond));
  }
  EXPECT_FALSE(meter_.CanTell(JobSignal::kThrottled, kStart * kNanosPerSecond)) << "no clock was read";
}

TEST_F(SecondMeterTest, IdleIsHeldWhileAProcessHasMemory) {
  Sample sample = At(kStart * kNanosPerSecond, 0);
  sample.Set(Signal::kProcesses, 1);
  Feed(sample);
  EXPECT_EQ(meter_.Close(kStart).idle_ms[0], 1000);
}

TEST_F(SecondMeterTest, EnergyIsTheRiseOfTheCounterAndMeanPower) {
  for (std::int64_t s = 0; s < 2; ++s) {
    Sample sample = At((kStart + s) * kNanosPerSecond, 50);
    sample.Set(Signal::kEnergy, 1'000'000 + s * 350'000);
    sample.Set(Signal::kPower, 350'000);
    Feed(sample);
  }
  meter_.Close(kStart);
  const GpuSecond second = meter_.Close(kStart + 1);
  EXPECT_EQ(second.energy_power_mj, 350'000);
}

TEST_F(SecondMeterTest, ALateSampleIsDroppedAndCounted) {
  FeedSecond(kStart, 100);
  meter_.Close(kStart);
  Feed(At(kStart * kNanosPerSecond + 1, 0));
  EXPECT_EQ(meter_.late_samples(), 1);
}

// The agent and an audit of the same samples agree on every phase, whatever the load and however many readings lack.
TEST(SecondMeter, AgreesWithTheAuditOfTheSameSamples) {
  std::mt19937_64 random(3);
  for (int round = 0; round < 30; ++round) {
    const Thresholds thresholds;
    DeviceTable devices;
    DeviceKey key;
    key.uuid = "GPU-1";
    const DeviceId device = devices.Enter(key);
    DataQuality quality;
    RunClassifier audit(thresholds, devices, quality, [](std::string_view) { return BoardFacts{}; });
    SecondMeter meter(thresholds);
    const std::int64_t seconds = 120;
    std::int64_t level = 0;
    for (std::int64_t tick = 0; tick < seconds * 10; ++tick) {
      if (tick % 37 == 0) level = static_cast<std::int64_t>(random() % 101);
      if (random() % 20 == 0) continue;  // a reading that lacks
      Sample sample = At(kStart * kNanosPerSecond + tick * kTick, std::min<std::int64_t>(level, 100));
      sample.device = device;
      sample.Set(Signal::kProcesses, 1);
      audit.OnSamples({&sample, 1});
      meter.Feed(sample, sample.time.nanos());
    }
    std::array<std::int64_t, kPhaseCount> counted{};
    for (std::int64_t s = 0; s < seconds; ++s) {
      const GpuSecond second = meter.Close(kStart + s);
      for (std::size_t p = 0; p < kPhaseCount; ++p) counted[p] += second.phase_ms[p];
    }
    const RunResult result = audit.Finish();
    for (std::size_t p = 0; p < kPhaseCount; ++p)
      EXPECT_EQ(counted[p] * 1'000'000, result.devices.at(0).totals.phase_ns[p]) << "phase " << p;
  }
}

}  // namespace
}  // namespace idleburn
