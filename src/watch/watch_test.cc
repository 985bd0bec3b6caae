#include "watch/watch.h"

#include <gtest/gtest.h>

#include <algorithm>

namespace idleburn {
namespace {

constexpr Nanos kSecond(kNanosPerSecond);

// GPUs 0 to n - 1, a reading of each a second and a look after it.
class Machine {
 public:
  Machine(WatchLimits limits, int count) : watch_(std::move(limits), thresholds_) {
    for (int i = 0; i < count; ++i) gpus.push_back({static_cast<DeviceId>(i), "GPU " + std::to_string(i)});
  }
  // The next `seconds` with these utilizations; -1: no word of that GPU. Processes hold all but those in `empty`.
  std::vector<WatchAlert> Run(int seconds, const std::vector<int>& percent, const std::vector<DeviceId>& empty = {}) {
    std::vector<WatchAlert> all;
    for (int i = 0; i < seconds; ++i, ++second_) {
      std::vector<Sample> samples;
      for (DeviceId id = 0; id < percent.size(); ++id) {
        if (percent[id] < 0) continue;
        Sample& s = samples.emplace_back();
        s.time = Instant::FromNanos(second_ * kNanosPerSecond);
        s.device = id;
        s.Set(Signal::kProcesses, std::find(empty.begin(), empty.end(), id) == empty.end() ? 1 : 0);
        s.Set(Signal::kUtilization, percent[id] * kPercent);
      }
      watch_.OnSamples(samples);
      for (WatchAlert& alert : watch_.Look(gpus, spend)) all.push_back(std::move(alert));
    }
    return all;
  }
  Spend spend;
  std::vector<WatchedGpu> gpus;

 private:
  Thresholds thresholds_;
  Watch watch_;
  std::int64_t second_ = 1000;
};

WatchLimits IdleHeld(int seconds) {
  WatchLimits limits;
  limits.idle_held = seconds * kSecond;
  return limits;
}

std::vector<WatchAct> Acts(const std::vector<WatchAlert>& alerts) {
  std::vector<WatchAct> acts;
  for (const WatchAlert& alert : alerts) acts.push_back(alert.act);
  return acts;
}
using ActList = std::vector<WatchAct>;

TEST(Watch, OnlyBeyondTheLimitAndOnce) {
  Machine machine(IdleHeld(5), 1);
  EXPECT_EQ(machine.Run(6, {0}).size(), 0U);  // five whole seconds: at the limit
  EXPECT_EQ(Acts(machine.Run(1, {0})), ActList{WatchAct::kStop});
  EXPECT_EQ(machine.Run(100, {0}).size(), 0U);
  EXPECT_EQ(machine.Run(1, {50}).size(), 0U);
  EXPECT_EQ(Acts(machine.Run(20, {0})), ActList{WatchAct::kStop});  // a new stretch
}

TEST(Watch, FlappingNeverAlerts) {
  Machine machine(IdleHeld(5), 1);
  for (int i = 0; i < 50; ++i) {
    EXPECT_EQ(machine.Run(5, {0}).size(), 0U);
    EXPECT_EQ(machine.Run(1, {10}).size(), 0U);
  }
}

TEST(Watch, EachGpuIsSaidAndAllOfThemStop) {
  Machine machine(IdleHeld(5), 2);
  const std::vector<WatchAlert> one = machine.Run(20, {0, 80});
  ASSERT_EQ(Acts(one), ActList{WatchAct::kWarn});
  EXPECT_NE(one[0].text.find("GPU 0 has been idle for 6 s"), std::string::npos) << one[0].text;
  const std::vector<WatchAlert> both = machine.Run(20, {0, 0});
  ASSERT_EQ(Acts(both), ActList{WatchAct::kStop});
  EXPECT_NE(both[0].text.find("all 2 GPUs have been idle"), std::string::npos) << both[0].text;
}

TEST(Watch, AGpuOfWhichNothingIsKnownKeepsTheRunAlive) {
  Machine machine(IdleHeld(5), 2);
  EXPECT_EQ(Acts(machine.Run(60, {0, -1})), ActList{WatchAct::kWarn});
}

TEST(Watch, AGpuThatNobodyHoldsDoesNot) {
  Machine machine(IdleHeld(5), 3);
  const std::vector<WatchAlert> alerts = machine.Run(60, {0, 0, 0}, {1, 2});
  ASSERT_EQ(Acts(alerts), ActList{WatchAct::kStop});
  EXPECT_NE(alerts[0].text.find("no process holds 2 of them"), std::string::npos) << alerts[0].text;
  Machine nobody(IdleHeld(5), 2);
  EXPECT_EQ(nobody.Run(60, {0, 0}, {0, 1}).size(), 0U);  // waiting for a job is no idle-held
}

TEST(Watch, WhatItCostSoFarIsSaid) {
  WatchLimits limits = IdleHeld(5);
  limits.currency = "USD";
  Machine machine(limits, 2);
  machine.gpus[0].per_hour = Money::Cents(360000);
  machine.gpus[1].per_hour = Money::Cents(720000);
  const std::vector<WatchAlert> one = machine.Run(7, {0, 80});
  ASSERT_EQ(one.size(), 1U);
  EXPECT_NE(one[0].text.find("$6.00 so far"), std::string::npos) << one[0].text;
  const std::vector<WatchAlert> both = machine.Run(7, {0, 0});  // 13 s at a dollar, 6 s at two
  ASSERT_EQ(both.size(), 1U);
  EXPECT_NE(both[0].text.find("$25.00 so far"), std::string::npos) << both[0].text;
  machine.gpus[1].per_hour.reset();
  EXPECT_EQ(machine.Run(1, {80, 80}).size(), 0U);
  const std::vector<WatchAlert> unpriced = machine.Run(7, {0, 0});
  ASSERT_EQ(unpriced.size(), 1U);
  EXPECT_EQ(unpriced[0].text.find("so far"), std::string::npos) << unpriced[0].text;
}

TEST(Watch, HowLongTheRestLastsFollowsWhatAllGpusCost) {
  WatchLimits limits;
  limits.budget = Money::Cents(5000);
  limits.currency = "USD";
  Machine machine(limits, 1);
  machine.spend.cost = Money::Cents(4000);
  machine.spend.per_hour = Money::Cents(2000);  // eight at 2.00 and one at 4.00
  const std::vector<WatchAlert> alerts = machine.Run(1, {80});
  ASSERT_EQ(alerts.size(), 1U);
  EXPECT_NE(alerts[0].text.find("the rest lasts 30 min"), std::string::npos) << alerts[0].text;
}

struct LevelRow {
  std::int64_t cents;  // of 50.00
  ActList acts;
};

TEST(Watch, LevelsOfABudgetAreSaidOnceEach) {
  WatchLimits limits;
  limits.budget = Money::Cents(5000);
  limits.currency = "EUR";
  Machine plain(limits, 1);
  limits.asks_checkpoint = true;
  Machine asking(limits, 1);
  const LevelRow rows[] = {
      {3999, {}}, {4000, {WatchAct::kWarn}}, {4001, {}}, {4749, {}}, {4750, {WatchAct::kCheckpoint}},
      {4999, {}}, {5000, {WatchAct::kStop}}, {9000, {}}};
  for (const LevelRow& row : rows) {
    plain.spend.cost = asking.spend.cost = Money::Cents(row.cents);
    EXPECT_EQ(Acts(asking.Run(1, {80})), row.acts) << row.cents;
    const bool silent = row.cents == 4750;  // nobody would act on it
    EXPECT_EQ(Acts(plain.Run(1, {80})), silent ? ActList{} : row.acts) << row.cents;
  }
}

TEST(Watch, AJumpPastSeveralLevelsIsTheHighest) {
  WatchLimits limits;
  limits.budget = Money::Cents(5000);
  limits.currency = "USD";
  Machine machine(limits, 1);
  machine.spend.cost = Money::Cents(20000);
  const std::vector<WatchAlert> alerts = machine.Run(3, {80});
  ASSERT_EQ(Acts(alerts), ActList{WatchAct::kStop});
  EXPECT_EQ(alerts[0].text, "100 % of the budget is spent: $200.00 of $50.00");
}

TEST(Watch, ACostThatIsNotKnownIsNoAlert) {
  WatchLimits limits;
  limits.budget = Money::Cents(1);
  Machine machine(limits, 1);
  EXPECT_EQ(machine.Run(5, {80}).size(), 0U);
}

TEST(Watch, GpuHoursHaveTheSameLevels) {
  WatchLimits limits;
  limits.gpu_time = Nanos(12 * kNanosPerHour);
  Machine machine(limits, 4);
  machine.spend.gpus = 4;
  machine.spend.gpu_time = Nanos(12 * kNanosPerHour / 10 * 8 - 1);
  EXPECT_EQ(machine.Run(1, {80}).size(), 0U);
  machine.spend.gpu_time += Nanos(1);
  const std::vector<WatchAlert> alerts = machine.Run(1, {80});
  ASSERT_EQ(alerts.size(), 1U);
  EXPECT_EQ(alerts[0].text, "80 % of the GPU-hours are used: 9.6 of 12; the rest lasts 36 min");
  machine.spend.gpu_time = Nanos(12 * kNanosPerHour);
  EXPECT_EQ(Acts(machine.Run(5, {80})), ActList{WatchAct::kStop});
}

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
