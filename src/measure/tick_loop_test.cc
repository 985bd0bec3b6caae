#include "measure/tick_loop.h"

#include <gtest/gtest.h>

#include <functional>

#include "measure/clock_lane.h"
#include "support/live_log.h"

namespace idleburn {
namespace {

using testing::LiveLog;

// Time passes only when somebody sleeps, or when a lane takes some.
class HandClock : public RunClock {
 public:
  ClockReading Read() override {
    const Nanos now(ns_);
    return {now, now + Nanos(slept_), Instant::FromNanos(1'700'000'000 * kNanosPerSecond + ns_ + slept_ + set_)};
  }
  Nanos Monotonic() override { return Nanos(ns_); }
  void SleepUntil(Nanos monotonic, const std::stop_token&) override { ns_ = std::max(ns_.load(), monotonic.count()); }

  void Pass(std::int64_t ns) { ns_ += ns; }
  void Set(std::int64_t ns) { set_ += ns; }
  void Suspend(std::int64_t ns) { slept_ += ns; }

 private:
  std::atomic<std::int64_t> ns_{0};
  std::int64_t set_ = 0;
  std::int64_t slept_ = 0;
};

class ScriptedLane : public Lane {
 public:
  explicit ScriptedLane(std::function<void(Instant)> tick) : tick_(std::move(tick)) {}
  void Tick(Instant now, LiveSink&) override { tick_(now); }
  void PushStale(Instant now, LiveSink& out) override {
    Sample sample;
    sample.time = now;
    sample.SetUnavailable(Signal::kUtilization, Unobserved::kStale);
    out.OnSamples({&sample, 1});
  }
  [[nodiscard]] std::string Pending() const override { return "nvmlDeviceGetPowerUsage"; }

 private:
  std::function<void(Instant)> tick_;
};

struct Loop {
  explicit Loop(std::function<void(Instant)> tick) {
    std::vector<std::unique_ptr<Lane>> lanes;
    lanes.push_back(std::make_unique<ClockLane>(clock));
    lanes.push_back(std::make_unique<ScriptedLane>(std::move(tick)));
    loop = std::make_unique<TickLoop>(Nanos(100'000'000), clock, TimeLine(clock->Read()), std::move(lanes), log);
  }
  void Run(int ticks) const {
    for (int i = 0; i < ticks; ++i) loop->Step(std::stop_token());
  }

  std::shared_ptr<HandClock> clock = std::make_shared<HandClock>();
  LiveLog log;
  std::unique_ptr<TickLoop> loop;
};

TEST(TickLoop, TicksStandOnTheirGridHoweverLongEachTakes) {
  std::vector<std::int64_t> times;
  std::int64_t work = 0;
  Loop run([&](Instant now) {
    times.push_back(now.nanos() - 1'700'000'000 * kNanosPerSecond);
    run.clock->Pass(work = (work + 17'000'000) % 90'000'000);
  });
  run.Run(50);
  for (std::size_t i = 0; i < times.size(); ++i) EXPECT_EQ(times[i], static_cast<std::int64_t>(i) * 100'000'000);
  EXPECT_EQ(run.loop->missed(), 0);
  EXPECT_EQ(run.loop->served(), 50);
  EXPECT_EQ(run.loop->late().max(), Nanos(0));
}

TEST(TickLoop, MissedTicksAreCountedAndNoted) {
  int tick = 0;
  Loop run([&](Instant) { run.clock->Pass(++tick == 5 ? 1'250'000'000 : 0); });
  run.Run(10);
  EXPECT_EQ(run.loop->missed(), 12);
  const auto notes = run.log.Notes(NoteKind::kMissedTicks);
  ASSERT_EQ(notes.size(), 1U);
  EXPECT_EQ(notes[0], "12 of the last readings came too late to be taken (1.2 s)");
}

TEST(TickLoop, SingleMissedTicksAreNotedOnceInAWhileAndAtTheEnd) {
  Loop run([&](Instant) { run.clock->Pass(150'000'000); });  // every second tick is missed
  run.Run(30);
  EXPECT_EQ(run.loop->missed(), 30);
  const std::size_t during = run.log.Notes(NoteKind::kMissedTicks).size();
  EXPECT_LT(during, 6U);
  run.loop->Finish();
  EXPECT_EQ(run.log.Notes(NoteKind::kMissedTicks).size(), during + 1);
}

TEST(TickLoop, NeitherAClockStepNorSleepMovesTheLineOfTime) {
  std::vector<std::int64_t> times;
  Loop run([&](Instant now) { times.push_back(now.nanos()); });
  run.Run(2);
  run.clock->Set(3600 * kNanosPerSecond);
  run.Run(2);
  run.clock->Set(-60 * kNanosPerSecond);
  run.Run(2);
  run.clock->Suspend(90 * kNanosPerSecond);
  run.Run(2);
  run.clock->Set(40'000'000);  // as a time service slews it
  run.Run(2);
  for (std::size_t i = 1; i < times.size(); ++i) EXPECT_EQ(times[i] - times[i - 1], 100'000'000);
  const auto steps = run.log.Notes(NoteKind::kClockStep);
  ASSERT_EQ(steps.size(), 2U);
  EXPECT_EQ(steps[0], "the wall clock was set forward by 3600.0 s; times of this run go on as before");
  EXPECT_EQ(steps[1], "the wall clock was set back by 60.0 s; times of this run go on as before");
  const auto sleeps = run.log.Notes(NoteKind::kSuspend);
  ASSERT_EQ(sleeps.size(), 1U);
  EXPECT_EQ(sleeps[0], "the machine slept for 90.0 s, which this run leaves out");
}

// To the nanosecond: a tenth of a second is a slew, more is a step, each seen apart from the other.
TEST(TickLoop, OnlyWhatIsMoreThanASlewIsNoted) {
  constexpr std::int64_t kSlew = 100'000'000;
  struct Case {
    std::int64_t set;
    std::int64_t slept;
    std::size_t steps;
    std::size_t sleeps;
  };
  const Case cases[] = {
      {0, 0, 0, 0},
      {kSlew, 0, 0, 0},
      {-kSlew, 0, 0, 0},
      {kSlew + 1, 0, 1, 0},
      {-kSlew - 1, 0, 1, 0},
      {0, kSlew, 0, 0},
      {0, kSlew + 1, 0, 1},
      {0, 3600 * kNanosPerSecond, 0, 1},
      {-3600 * kNanosPerSecond, 3600 * kNanosPerSecond, 1, 1},  // set back by just as long as it slept
      {kSlew + 1, kSlew + 1, 1, 1},
  };
  for (const Case& c : cases) {
    Loop run([](Instant) {});
    run.Run(2);
    run.clock->Set(c.set);
    run.clock->Suspend(c.slept);
    run.Run(3);
    EXPECT_EQ(run.log.Notes(NoteKind::kClockStep).size(), c.steps) << c.set << " " << c.slept;
    EXPECT_EQ(run.log.Notes(NoteKind::kSuspend).size(), c.sleeps) << c.set << " " << c.slept;
  }
}

TEST(TickLoop, AHangIsNotedOnceAndItsDevicesAreStaleAsLongAsItLasts) {
  constexpr Nanos kAfter(5 * kNanosPerSecond);
  Loop run([&](Instant) {  // what the watchdog does while this lane hangs
    run.clock->Pass(4'900'000'000);
    run.loop->CheckHang(kAfter);
    EXPECT_TRUE(run.log.samples.empty());
    for (int i = 0; i < 3; ++i) {
      run.clock->Pass(1'000'000'000);
      run.loop->CheckHang(kAfter);
    }
  });
  run.Run(1);
  const auto notes = run.log.Notes(NoteKind::kDriverHang);
  ASSERT_EQ(notes.size(), 1U);
  EXPECT_EQ(notes[0],
            "nvmlDeviceGetPowerUsage has not returned for 5.9 s: what it reads is unobserved until it does; see dmesg");
  EXPECT_EQ(run.log.Lacking(0, Signal::kUtilization).size(), 3U);
  run.clock->Pass(60'000'000'000);
  run.loop->CheckHang(kAfter);  // between ticks nothing hangs
  EXPECT_EQ(run.log.Notes(NoteKind::kDriverHang).size(), 1U);
}

}  // namespace
}  // namespace idleburn
