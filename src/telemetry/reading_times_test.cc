#include "telemetry/reading_times.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

namespace idleburn {
namespace {

using Spans = std::vector<std::pair<int, int>>;  // seconds, [from, to)

std::vector<int> StampsOf(const Spans& spans, int step = 1) {
  std::vector<int> stamps;
  for (const auto& [from, to] : spans) {
    for (int t = from; t < to; t += step) stamps.push_back(t);
  }
  return stamps;
}

Coverage Of(const std::vector<int>& stamps) {
  Coverage coverage;
  for (const int t : stamps) coverage.See(Instant::FromNanos(t * kNanosPerSecond));
  coverage.Settle();
  return coverage;
}

double Overlap(const Coverage& a, const Coverage& b) {
  EXPECT_EQ(Coverage::Overlap(a, b), Coverage::Overlap(b, a));
  return static_cast<double>(Coverage::Overlap(a, b).count()) / 1e9;
}

TEST(CoverageTest, OverlapsFromTheLaterBeginToTheEarlierEnd) {
  const Coverage a = Of(StampsOf({{0, 101}}));
  EXPECT_EQ(Overlap(a, Of(StampsOf({{50, 200}}))), 50);
  EXPECT_EQ(Overlap(a, Of(StampsOf({{20, 31}}))), 10);
  EXPECT_EQ(Overlap(a, Of(StampsOf({{100, 200}}))), 0);
  EXPECT_EQ(Overlap(a, Of(StampsOf({{300, 400}}))), 0);
  EXPECT_EQ(Overlap(a, Coverage()), 0);
  EXPECT_EQ(a.Step(), Nanos(kNanosPerSecond));
}

TEST(CoverageTest, APauseIsNotCovered) {
  const Coverage days = Of(StampsOf({{0, 1001}, {2000, 3001}, {4000, 5001}}));
  EXPECT_EQ(Overlap(days, Of(StampsOf({{1000, 2001}, {3000, 4001}}))), 0);
  EXPECT_EQ(Overlap(days, Of(StampsOf({{900, 2101}, {3000, 4001}}))), 200);
  EXPECT_EQ(days.Step(), Nanos(kNanosPerSecond)) << "pauses apart";
}

// Readings that are far apart, all of them, are no pauses: two such logs do overlap.
TEST(CoverageTest, SlowReadingsArePausesOfNothing) {
  EXPECT_EQ(Overlap(Of(StampsOf({{0, 6001}}, 600)), Of(StampsOf({{300, 6301}}, 600))), 5700);
}

TEST(CoverageTest, TheOrderOfTheReadingsDecidesNothing) {
  std::vector<int> stamps = StampsOf({{0, 1001}, {2000, 3001}});
  const Coverage middle = Of(StampsOf({{950, 2051}}));
  std::reverse(stamps.begin(), stamps.end());
  EXPECT_EQ(Overlap(Of(stamps), middle), 100);
  std::rotate(stamps.begin(), stamps.begin() + 700, stamps.end());
  EXPECT_EQ(Overlap(Of(stamps), middle), 100);
  std::vector<int> twice = stamps;  // two series of one device
  twice.insert(twice.end(), stamps.begin(), stamps.end());
  EXPECT_EQ(Overlap(Of(twice), middle), 100);
  std::vector<int> filled = stamps;  // what seemed a pause has readings after all
  for (int t = 1001; t < 2000; ++t) filled.push_back(t);
  EXPECT_EQ(Overlap(Of(filled), middle), 1100);
}

TEST(CoverageTest, TimesOfNoCalendarDoNotOverflow) {
  Coverage all;
  for (const std::int64_t t : {INT64_MIN, INT64_MAX, std::int64_t{0}}) all.See(Instant::FromNanos(t));
  all.Settle();
  EXPECT_EQ(Overlap(all, Of({10, 20})), 10);
}

constexpr std::int64_t kPeriod = 10;
constexpr std::int64_t kHold = 25;

// What becomes of rows of these stamps: a letter each (o: a new time, s: a step, l: late, a: again, m: misplaced), and
// how long the window is in the end.
struct Read {
  explicit Read(const std::vector<std::int64_t>& stamps) {
    DeviceClock clock;
    clock.Begin(stamps.front(), 1);
    std::int64_t newest = stamps.front();
    for (std::size_t i = 1; i < stamps.size(); ++i) {
      const DeviceClock::Row row = clock.Place(stamps[i], 1, newest, kHold, kPeriod);
      rows += std::string("oslam")[static_cast<std::size_t>(row)];
      if (row == DeviceClock::Row::kOn || row == DeviceClock::Row::kStep) newest = stamps[i] + clock.shift();
    }
    window = newest - stamps.front();
  }
  std::string rows;
  std::int64_t window = 0;
};

TEST(DeviceClockTest, AStepBackEndsOnePeriodLater) {
  const Read r({100, 110, 120, 130, 70, 80});
  EXPECT_EQ(r.rows, "oooso");
  EXPECT_EQ(r.window, 50);
}

TEST(DeviceClockTest, AMomentaryStepBackIsUndone) {
  const Read r({1000, 1010, 1020, 30, 1040, 1050});
  EXPECT_EQ(r.rows, "oosso");
  EXPECT_EQ(r.window, 50);
  EXPECT_EQ(Read({1000, 1010, 1020, 430, 440, 450, 1060}).window, 60);
}

TEST(DeviceClockTest, AClockThatIsSetAheadAgainInSpringLosesNothing) {
  EXPECT_EQ(Read({1000, 1100, 1110, 1120, 1030, 1040, 1150}).window, 150);
}

TEST(DeviceClockTest, ALogThatBeginsAnewIsThereTwice) {
  const Read r({100, 110, 120, 130, 140, 100, 110, 120, 130, 140, 150});
  EXPECT_EQ(r.rows, "ooooaaaaao");
  EXPECT_EQ(r.window, 50);
}

TEST(DeviceClockTest, OtherSignalsFromTheFirstStampOnAreNoCopy) {
  DeviceClock clock;
  clock.Begin(100, 1);
  EXPECT_EQ(clock.Place(100, 3, 200, kHold, kPeriod), DeviceClock::Row::kMisplaced);
  EXPECT_EQ(clock.Place(100, 1, 200, kHold, kPeriod), DeviceClock::Row::kAgain);
}

TEST(DeviceClockTest, APieceOutOfItsPlaceLiesInAGap) {
  const Read r({0, 10, 20, 100, 110, 120, 30, 40, 90, 130});
  EXPECT_EQ(r.rows, "ooooommmo");
  EXPECT_EQ(r.window, 130);
}

TEST(DeviceClockTest, ALittleLateIsNoStep) { EXPECT_EQ(Read({0, 10, 20, 30, 10, 40}).rows, "ooolo"); }

// Of more gaps than are kept the longest are.
TEST(DeviceClockTest, KeepsTheLongestGaps) {
  std::vector<std::int64_t> stamps = {0, 1000};
  for (int i = 0; i < 200; ++i) stamps.push_back(stamps.back() + 30);
  stamps.push_back(500);
  EXPECT_EQ(Read(stamps).rows.back(), 'm');
}

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
