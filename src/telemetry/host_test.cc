#include "telemetry/host.h"

#include <gtest/gtest.h>

#include <algorithm>

namespace idleburn {
namespace {

HostSample At(double seconds, HostSignal signal, std::int64_t value, HostScope scope = HostScope::kMachine) {
  HostSample sample;
  sample.time = Instant::FromNanos(static_cast<std::int64_t>(seconds * 1e9));
  sample.scope = scope;
  sample.Set(signal, value);
  return sample;
}

const HostSum& In(const HostTimeline& timeline, std::int64_t second, HostSignal signal,
                  HostScope scope = HostScope::kMachine) {
  const SecondBuckets<HostBucket>& t = timeline.Of(scope);
  return t.buckets.at(static_cast<std::size_t>(second / t.bucket_seconds - t.first)).sum[Index(signal)];
}

TEST(HostTimeline, ARiseIsSpreadOverTheTimeBetweenReadings) {
  HostTimeline timeline;
  timeline.Add(At(10.5, HostSignal::kReadBytes, 1000));
  timeline.Add(At(12.25, HostSignal::kReadBytes, 1700));
  EXPECT_EQ(In(timeline, 10, HostSignal::kReadBytes), (HostSum{500'000'000, 200}));
  EXPECT_EQ(In(timeline, 11, HostSignal::kReadBytes), (HostSum{1'000'000'000, 400}));
  EXPECT_EQ(In(timeline, 12, HostSignal::kReadBytes), (HostSum{250'000'000, 100}));
}

TEST(HostTimeline, ANumberOfThingsHoldsUntilTheNextReading) {
  HostTimeline timeline;
  timeline.Add(At(3, HostSignal::kCpus, 8, HostScope::kWorkload));
  timeline.Add(At(4, HostSignal::kCpus, 2, HostScope::kWorkload));
  EXPECT_EQ(In(timeline, 3, HostSignal::kCpus, HostScope::kWorkload), (HostSum{1'000'000'000, 8'000'000'000}));
  EXPECT_TRUE(timeline.Of(HostScope::kMachine).buckets.empty());
}

TEST(HostTimeline, WhatWasNotReadIsNotKnown) {
  HostTimeline timeline;
  timeline.Add(At(1, HostSignal::kCpuTime, 5));
  HostSample lacking = At(2, HostSignal::kReadBytes, 0);
  lacking.SetUnavailable(HostSignal::kPsiIoFull);
  timeline.Add(lacking);
  timeline.Add(At(100, HostSignal::kCpuTime, 900));  // after a sleep
  timeline.Add(At(101, HostSignal::kCpuTime, 100));  // of another boot
  timeline.Add(At(101, HostSignal::kCpuTime, 150));  // no time between
  timeline.Add(At(102, HostSignal::kCpuTime, 160));
  EXPECT_EQ(In(timeline, 101, HostSignal::kCpuTime), (HostSum{1'000'000'000, 10}));
  std::int64_t known = 0;
  for (const HostBucket& bucket : timeline.Of(HostScope::kMachine).buckets) {
    known += bucket.sum[Index(HostSignal::kCpuTime)].ns;
    EXPECT_EQ(bucket.sum[Index(HostSignal::kPsiIoFull)].ns, 0);
  }
  EXPECT_EQ(known, kNanosPerSecond);
}

TEST(HostTimeline, ThreeDaysFitIntoBoundedMemoryAndKeepTheirSum) {
  HostTimeline timeline;
  constexpr std::int64_t kSeconds = 3 * 24 * 3600;
  for (std::int64_t s = 0; s <= kSeconds; ++s) timeline.Add(At(static_cast<double>(s), HostSignal::kWriteBytes, 7 * s));
  const SecondBuckets<HostBucket>& t = timeline.Of(HostScope::kMachine);
  EXPECT_LE(t.buckets.size(), SecondBuckets<HostBucket>::kMaxBuckets);
  HostSum all;
  for (const HostBucket& bucket : t.buckets) all.Merge(bucket.sum[Index(HostSignal::kWriteBytes)]);
  EXPECT_EQ(all, (HostSum{kSeconds * kNanosPerSecond, 7 * kSeconds}));
}

HostSample AtMs(std::int64_t milliseconds, HostSignal signal, std::int64_t value) {
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
    statistics.Add(AtMs(tick * 100, HostSignal::kCpuTime, used / 10'000'000 * 10'000'000));
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
    statistics.Add(AtMs(ms, signal, bytes));
  }
  const HostStatistic rate = Of(statistics, signal);
  EXPECT_EQ(rate.ns, 2 * kNanosPerSecond);
  EXPECT_DOUBLE_EQ(rate.Mean().value(), 1.5e9);
  EXPECT_EQ(rate.peak, 2'000'000'000);
}

TEST(HostStatistics, ALevelHoldsUntilTheNextReading) {
  HostStatistics statistics;
  statistics.Add(AtMs(0, HostSignal::kMemoryUsed, 100));
  statistics.Add(AtMs(1000, HostSignal::kMemoryUsed, 300));
  statistics.Add(AtMs(4000, HostSignal::kMemoryUsed, 700));
  const HostStatistic memory = Of(statistics, HostSignal::kMemoryUsed);
  EXPECT_DOUBLE_EQ(memory.Mean().value(), (100.0 + 3 * 300) / 4);
  EXPECT_EQ(memory.peak, 700);
}

TEST(HostStatistics, ARunOfLessThanASecondIsKnown) {
  HostStatistics statistics;
  statistics.Add(AtMs(0, HostSignal::kPsiIoFull, 0));
  statistics.Add(AtMs(400, HostSignal::kPsiIoFull, 100'000'000));
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
