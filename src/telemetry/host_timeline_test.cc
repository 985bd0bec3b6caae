#include "telemetry/host_timeline.h"

#include <gtest/gtest.h>

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

}  // namespace
}  // namespace idleburn
