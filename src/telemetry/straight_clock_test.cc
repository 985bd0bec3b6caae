#include "telemetry/straight_clock.h"

#include <gtest/gtest.h>

#include <utility>
#include <vector>

namespace idleburn {
namespace {

class Collected final : public SampleSink {
 public:
  void OnSamples(std::span<const Sample> batch) override { samples.insert(samples.end(), batch.begin(), batch.end()); }
  std::vector<Sample> samples;
};

struct Row {
  double seconds;
  DeviceId device = 0;
};

struct Straight {
  explicit Straight(const std::vector<Row>& rows) {
    StraightClock clock(sink, quality);
    for (const Row& row : rows) {
      Sample s;
      s.time = Instant::FromNanos(static_cast<std::int64_t>(row.seconds * 1000) * 1'000'000);
      s.device = row.device;
      s.Set(Signal::kUtilization, 0);
      clock.OnSamples(std::span(&s, 1));
    }
    back = clock.rows_back();
  }
  // Of the readings, and of what says that there is none.
  [[nodiscard]] std::vector<double> Seconds(bool readings = true) const {
    std::vector<double> all;
    for (const Sample& s : sink.samples) {
      if (s.Has(Signal::kUtilization) == readings) all.push_back(static_cast<double>(s.time.nanos()) / 1e9);
    }
    return all;
  }
  [[nodiscard]] std::int64_t Steps() const { return quality.CountOf(QualityId::kClockStep); }

  Collected sink;
  DataQuality quality;
  std::int64_t back = 0;
};

TEST(StraightClockTest, TimeGoesOnOnePeriodAfterAStep) {
  const Straight s({{100}, {101}, {102}, {62}, {63}, {64}});
  EXPECT_EQ(s.Seconds(), (std::vector<double>{100, 101, 102, 103, 104, 105}));
  EXPECT_EQ(s.Steps(), 1);
  ASSERT_EQ(s.Seconds(false).size(), 1U);
  EXPECT_NEAR(s.Seconds(false)[0], 102, 1e-6) << "what lies between is not known";
  const Sample& mark = s.sink.samples[3];
  EXPECT_TRUE(mark.Lacks(Signal::kUtilization));
  EXPECT_EQ(mark.reason, Unobserved::kClock);
}

TEST(StraightClockTest, ARowALittleLateIsNoStep) {
  const Straight s({{100}, {101}, {102}, {100.5}, {103}});
  EXPECT_EQ(s.Seconds(), (std::vector<double>{100, 101, 102, 100.5, 103}));
  EXPECT_EQ(s.Steps(), 0);
  EXPECT_EQ(s.back, 1);
}

TEST(StraightClockTest, StepsAddUp) {
  const Straight s({{100}, {110}, {120}, {20}, {30}, {0}, {10}, {200}});
  EXPECT_EQ(s.Seconds(), (std::vector<double>{100, 110, 120, 130, 140, 150, 160, 350}));
  EXPECT_EQ(s.Steps(), 2);
}

// Device 1 is not there when the clock is set back: what it says later is of the clock that device 0 shows.
TEST(StraightClockTest, ASweepHasOneClock) {
  const Straight s({{100, 0}, {100, 1}, {101, 0}, {102, 0}, {42, 0}, {43, 0}, {103, 0}, {103, 1}, {104, 2}});
  EXPECT_EQ(s.Seconds(), (std::vector<double>{100, 100, 101, 102, 103, 104, 164, 164, 165}));
}

// Both devices of a sweep go back, and are right again in the next.
TEST(StraightClockTest, AMomentaryStepIsUndoneForAllOfTheSweep) {
  const Straight s({{100, 0}, {100, 1}, {101, 0}, {101, 1}, {12, 0}, {12, 1}, {103, 0}, {103, 1}});
  EXPECT_EQ(s.Seconds(), (std::vector<double>{100, 100, 101, 101, 102, 102, 103, 103}));
  EXPECT_EQ(s.Steps(), 4);
}

TEST(StraightClockTest, ALogThatBeginsAnewCountsOnce) {
  const Straight s({{100}, {101}, {102}, {103}, {104}, {100}, {101}, {102}, {103}, {104}, {105}});
  EXPECT_EQ(s.Seconds(), (std::vector<double>{100, 101, 102, 103, 104, 104, 105}))
      << "what is of the newest time is joined where rows are sorted";
  EXPECT_EQ(s.quality.CountOf(QualityId::kDuplicateRow), 4);
  EXPECT_EQ(s.Steps(), 0);
  EXPECT_EQ(s.back, 0);
}

// Who sorts the rows puts it there.
TEST(StraightClockTest, APieceThatLiesInAGapKeepsItsTimes) {
  const Straight s({{100}, {101}, {202}, {203}, {150}, {151}, {152}, {204}});
  EXPECT_EQ(s.Seconds(), (std::vector<double>{100, 101, 202, 203, 150, 151, 152, 204}));
  EXPECT_EQ(s.Steps(), 0);
}

// One device after the other, as tables are grouped: each begins anew.
TEST(StraightClockTest, AnotherDeviceIsNoStep) {
  const Straight s({{100, 0}, {101, 0}, {102, 0}, {100, 1}, {101, 1}, {102, 1}});
  EXPECT_EQ(s.Seconds(), (std::vector<double>{100, 101, 102, 100, 101, 102}));
  EXPECT_EQ(s.Steps(), 0);
}

TEST(StraightClockTest, WhatIsNoTimeOfAClockStaysAsItIs) {
  Collected sink;
  DataQuality quality;
  StraightClock clock(sink, quality);
  const std::vector<std::int64_t> stamps = {INT64_MAX, INT64_MIN, INT64_MAX / 2, 0, -1, INT64_MAX / 2};
  for (const std::int64_t stamp : stamps) {
    Sample s;
    s.time = Instant::FromNanos(stamp);
    clock.OnSamples(std::span(&s, 1));
  }
  ASSERT_EQ(sink.samples.size(), stamps.size());
  for (std::size_t i = 0; i < stamps.size(); ++i) EXPECT_EQ(sink.samples[i].time.nanos(), stamps[i]);
}

}  // namespace
}  // namespace idleburn
