#include "telemetry/host_statistics.h"

#include <gtest/gtest.h>

#include <algorithm>

namespace idleburn {
namespace {

HostSample At(std::int64_t milliseconds, HostSignal signal, std::int64_t value) {
  HostSample sample;
  sample.time = Instant::FromNanos(milliseconds * 1'000'000);
  sample.Set(signal, value);
  return sample;
}

std::size_t Place(HostSignal signal) {
  const auto found = std::find_if(kHostMeasures.begin(), kHostMeasures.end(),
                                  [&](const HostMeasure& measure) { return measure.id == signal; });
  return static_cast<std::size_t>(found - kHostMeasures.begin());
}

HostStatistic Of(const HostStatistics& statistics, HostSignal signal) {
  return statistics.Of(HostScope::kMachine, Place(signal));
}

// 19 seconds at half a CPU and one at three, read ten times a second in steps of 10 ms.
TEST(HostStatistics, ACounterOfTimeIsAShareOfWholeSeconds) {
  HostStatistics statistics;
  std::int64_t used = 0;
  for (int tick = 0; tick <= 200; ++tick) {
    statistics.Add(At(tick * 100, HostSignal::kCpuTime, used / 10'000'000 * 10'000'000));
    used += tick / 10 == 7 ? 300'000'000 : 50'000'000;
  }
  const HostStatistic cpu = Of(statistics, HostSignal::kCpuTime);
  EXPECT_EQ(cpu.ns, 20 * kNanosPerSecond);
  EXPECT_DOUBLE_EQ(cpu.Mean().value(), (19 * 0.5 + 3) / 20 * kFull);
  EXPECT_EQ(cpu.peak, 300 * kPercent);
  EXPECT_EQ(cpu.spread.Percentile(95).value() * SpreadStep(Unit::kMicroPercent), 50 * kPercent);
}

TEST(HostStatistics, BytesAreRatesAndAFallOrAPauseIsNotKnown) {
  HostStatistics statistics;
  const HostSignal signal = HostSignal::kRdmaReceived;
  for (const auto& [ms, bytes] :
       {std::pair(0, 1'000'000'000LL), std::pair(1000, 3'000'000'000LL), std::pair(2000, 5'000LL),
        std::pair(3000, 1'000'005'000LL), std::pair(60'000, 9'000'005'000LL)}) {
    statistics.Add(At(ms, signal, bytes));
  }
  const HostStatistic rate = Of(statistics, signal);
  EXPECT_EQ(rate.ns, 2 * kNanosPerSecond);
  EXPECT_DOUBLE_EQ(rate.Mean().value(), 1.5e9);
  EXPECT_EQ(rate.peak, 2'000'000'000);
}

TEST(HostStatistics, ALevelHoldsUntilTheNextReading) {
  HostStatistics statistics;
  statistics.Add(At(0, HostSignal::kMemoryUsed, 100));
  statistics.Add(At(1000, HostSignal::kMemoryUsed, 300));
  statistics.Add(At(4000, HostSignal::kMemoryUsed, 700));
  const HostStatistic memory = Of(statistics, HostSignal::kMemoryUsed);
  EXPECT_DOUBLE_EQ(memory.Mean().value(), (100.0 + 3 * 300) / 4);
  EXPECT_EQ(memory.peak, 700);
}

TEST(HostStatistics, ARunOfLessThanASecondIsKnown) {
  HostStatistics statistics;
  statistics.Add(At(0, HostSignal::kPsiIoFull, 0));
  statistics.Add(At(400, HostSignal::kPsiIoFull, 100'000'000));
  EXPECT_DOUBLE_EQ(Of(statistics, HostSignal::kPsiIoFull).Mean().value(), 25.0 * kPercent);
  EXPECT_EQ(Of(statistics, HostSignal::kCpuTime).Mean(), std::nullopt);
}

TEST(HostStatistics, WhatMayNotBeReadIsTold) {
  HostStatistics statistics;
  HostSample sample;
  sample.SetUnavailable(HostSignal::kPsiCpuSome);
  statistics.Add(sample);
  EXPECT_TRUE(statistics.Lacks(HostScope::kMachine, Place(HostSignal::kPsiCpuSome)));
  EXPECT_FALSE(statistics.Lacks(HostScope::kMachine, Place(HostSignal::kCpuTime)));
}

}  // namespace
}  // namespace idleburn
