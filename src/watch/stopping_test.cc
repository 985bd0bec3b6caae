#include "watch/stopping.h"

#include <gtest/gtest.h>

namespace idleburn {
namespace {

constexpr Nanos kSecond(kNanosPerSecond);

StopRules Rules(bool checkpoint, bool kill) {
  StopRules rules;
  rules.checkpoint = checkpoint;
  rules.grace = 10 * kSecond;
  rules.kill = kill;
  return rules;
}

TEST(Stopping, AWarningDoesNothing) {
  Stopping stopping(Rules(true, true));
  stopping.Ask(WatchAct::kWarn);
  EXPECT_FALSE(stopping.Next(1000 * kSecond));
  EXPECT_FALSE(stopping.terminated());
}

TEST(Stopping, ItIsAskedOnceAndLeftAlone) {
  Stopping stopping(Rules(false, false));
  stopping.Ask(WatchAct::kCheckpoint);
  EXPECT_FALSE(stopping.Next(kSecond));
  stopping.Ask(WatchAct::kStop);
  EXPECT_EQ(stopping.Next(2 * kSecond), StopDeed::kTerminate);
  stopping.Ask(WatchAct::kStop);
  EXPECT_FALSE(stopping.Next(12 * kSecond - Nanos(1)));
  EXPECT_EQ(stopping.Next(12 * kSecond), StopDeed::kSayItRuns);
  EXPECT_FALSE(stopping.Next(1000 * kSecond));
}

TEST(Stopping, KillsOnlyIfAskedTo) {
  Stopping stopping(Rules(false, true));
  stopping.Ask(WatchAct::kStop);
  EXPECT_EQ(stopping.Next(kSecond), StopDeed::kTerminate);
  EXPECT_EQ(stopping.Next(11 * kSecond), StopDeed::kKill);
  EXPECT_FALSE(stopping.Next(1000 * kSecond));
}

TEST(Stopping, ACheckpointHasItsTimeBeforeTheEnd) {
  Stopping stopping(Rules(true, false));
  stopping.Ask(WatchAct::kStop);
  EXPECT_EQ(stopping.Next(kSecond), StopDeed::kCheckpoint);
  EXPECT_FALSE(stopping.Next(11 * kSecond - Nanos(1)));
  EXPECT_EQ(stopping.Next(11 * kSecond), StopDeed::kTerminate);
}

TEST(Stopping, ACheckpointAsksForNoEnd) {
  Stopping stopping(Rules(true, false));
  stopping.Ask(WatchAct::kCheckpoint);
  EXPECT_EQ(stopping.Next(kSecond), StopDeed::kCheckpoint);
  EXPECT_FALSE(stopping.Next(1000 * kSecond));
  stopping.Ask(WatchAct::kStop);
  EXPECT_EQ(stopping.Next(1001 * kSecond), StopDeed::kTerminate);
}

TEST(Stopping, WhereNobodyCheckpointsNobodyWaits) {
  Stopping stopping(Rules(true, false));
  stopping.Ask(WatchAct::kStop);
  EXPECT_EQ(stopping.Next(kSecond), StopDeed::kCheckpoint);
  stopping.NobodyCheckpoints();
  EXPECT_EQ(stopping.Next(kSecond), StopDeed::kTerminate);
}

}  // namespace
}  // namespace idleburn
