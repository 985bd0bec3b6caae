#include "telemetry/device_clock.h"

#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

namespace idleburn {
namespace {

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

}  // namespace
}  // namespace idleburn
