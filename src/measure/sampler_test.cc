#include "measure/sampler.h"

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <functional>
#include <regex>
#include <thread>

#include "measure/host_lane.h"
#include "measure/live_gpus.h"
#include "support/live_log.h"
#include "support/property.h"
#include "support/stand_in.h"
#include "telemetry/run_facts.h"

namespace idleburn {

namespace {

TEST(Ticks, AnEarlyOrPunctualTickMovesByOnePeriod) {
  Ticks ticks(Nanos(1000), Nanos(100));
  EXPECT_EQ(ticks.next(), Nanos(1000));
  ticks.Served(Nanos(990));
  EXPECT_EQ(ticks.next(), Nanos(1100));
  ticks.Served(Nanos(1199));
  EXPECT_EQ(ticks.next(), Nanos(1200));
  EXPECT_EQ(ticks.missed(), 0);
}

// However long the work of each tick takes: ticks stay on the grid, the next lies ahead, and served and missed
// ticks together are all there were.
TEST(Ticks, StayOnTheGridAndCountWhatTheyMiss) {
  test::ExpectProperty("ticks", [] {
    const auto period = *rc::gen::inRange<std::int64_t>(1, 1000);
    Ticks ticks(Nanos(7), Nanos(period));
    std::int64_t now = 0;
    std::int64_t served = 0;
    for (const std::int64_t work : *rc::gen::container<std::vector<std::int64_t>>(rc::gen::inRange(0, 5000))) {
      now = std::max(now, ticks.next().count()) + work;
      ticks.Served(Nanos(now));
      ++served;
      RC_ASSERT((ticks.next().count() - 7) % period == 0);
      RC_ASSERT(ticks.next().count() > now);
      RC_ASSERT(ticks.next().count() - now <= period);
      RC_ASSERT((ticks.next().count() - 7) / period == served + ticks.missed());
    }
  });
}

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
  EXPECT_EQ(notes[0], "12 readings were missed because idleburn ran too late (1.2 s)");
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
  EXPECT_EQ(steps[0], "the wall clock was set forward by 1 h; times in this run do not change");
  EXPECT_EQ(steps[1], "the wall clock was set back by 1 min; times in this run do not change");
  const auto sleeps = run.log.Notes(NoteKind::kSuspend);
  ASSERT_EQ(sleeps.size(), 1U);
  EXPECT_EQ(sleeps[0], "the machine slept for 1 min 30 s; this run leaves that time out");
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
  EXPECT_EQ(
      notes[0],
      "nvmlDeviceGetPowerUsage has not returned for 5.9 s: its readings are unobserved until it returns; see dmesg");
  EXPECT_EQ(run.log.Lacking(0, Signal::kUtilization).size(), 3U);
  run.clock->Pass(60'000'000'000);
  run.loop->CheckHang(kAfter);  // between ticks nothing hangs
  EXPECT_EQ(run.log.Notes(NoteKind::kDriverHang).size(), 1U);
}

using std::chrono::steady_clock;
using testing::LiveLog;
using testing::StandIn;

std::vector<std::unique_ptr<Lane>> LanesOf(const StandIn& driver, DeviceTable& devices, LiveSink& out,
                                           const std::shared_ptr<RunClock>& clock, const TimeLine& line) {
  LiveGpuOptions options;
  options.nvml_library = driver.path();
  options.sysfs = "/proc/nowhere";
  options.period = Nanos(10'000'000);
  LiveGpus gpus = LiveGpus::Open(options, devices, out, clock, line);
  EXPECT_EQ(gpus.lanes.size(), 1U) << gpus.why_not;
  return std::move(gpus.lanes);
}

// A driver has as long as it takes to end what is under way; where one hangs for good, `patience` is short.
constexpr Nanos kForever(3600 * kNanosPerSecond);
constexpr Nanos kShort(200'000'000);

struct Live {
  explicit Live(const std::string& script, Nanos patience = kForever) : driver("clock real\n" + script) {
    SamplerOptions options;
    options.period = Nanos(10'000'000);
    options.hang_after = Nanos(100'000'000);
    options.patience = patience;
    sampler = std::make_unique<Sampler>(options, clock, line, log);
  }
  void Start() { sampler->Serve(LanesOf(driver, devices, sampler->sink(), clock, line)); }
  // What the log has so far, while others write it.
  template <typename Look>
  bool Seen(Look look) {
    bool seen = false;
    sampler->sink().ChangeDevices([&] { seen = look(); });
    return seen;
  }
  std::shared_ptr<RunClock> clock = SystemClock();
  TimeLine line{clock->Read()};
  StandIn driver;
  DeviceTable devices;
  LiveLog log;
  std::unique_ptr<Sampler> sampler;
};

void Sleep(int milliseconds) { std::this_thread::sleep_for(std::chrono::milliseconds(milliseconds)); }

// These wait for what must happen, however long that takes: if it never does, the test never ends.
template <typename Condition>
void Await(Condition condition) {
  while (!condition()) Sleep(1);
}

// Whatever time it was that passed: a busy machine makes it longer.
bool SaysSilent(const std::string& text) {
  return std::regex_search(text, std::regex("^the NVIDIA driver has not answered nvmlInit_v2 in [0-9]+\\.[0-9] s"));
}

TEST(Sampler, ServesItsLanesUntilItIsStopped) {
  const auto start = steady_clock::now();
  Live run("gpu 0\nat 0s gpu 0 power=321\n");
  run.Start();
  Await([&] { return run.Seen([&] { return run.log.Of(0, Signal::kPower).size() >= 5; }); });
  run.sampler->sink().OnWork({});  // from another thread meanwhile
  run.sampler->Stop();
  const SamplerStatistics& statistics = run.sampler->statistics();
  EXPECT_FALSE(statistics.abandoned);
  EXPECT_GE(statistics.ticks, 5);
  EXPECT_LE(statistics.ticks + statistics.missed, (steady_clock::now() - start) / std::chrono::milliseconds(10) + 2);
  EXPECT_FALSE(statistics.calls.empty());
  EXPECT_EQ(run.log.work.size(), 1U);
  const auto power = run.log.Of(0, Signal::kPower);
  EXPECT_EQ(static_cast<std::int64_t>(power.size()), statistics.ticks);
  for (const auto& reading : power) EXPECT_EQ(reading.second, 321'000);
  EXPECT_TRUE(run.log.InOrder());
  EXPECT_EQ(run.driver.Counts().gpm_samples, 0);  // given back before Stop returned
}

TEST(Sampler, ACallThatHangsAndReturnsLeavesItsTimeStale) {
  Live run("gpu 0\nhang nvmlDeviceGetTotalEnergyConsumption times=1\n");
  run.Start();
  Await([&] { return run.Seen([&] { return !run.log.Notes(NoteKind::kDriverHang).empty(); }); });
  Await([&] { return run.Seen([&] { return !run.log.Lacking(0, Signal::kUtilization).empty(); }); });
  run.driver.Release();
  Await([&] { return run.Seen([&] { return !run.log.Of(0, Signal::kPower).empty(); }); });
  run.sampler->Stop();
  EXPECT_FALSE(run.sampler->statistics().abandoned);
  const auto notes = run.log.Notes(NoteKind::kDriverHang);
  ASSERT_GE(notes.size(), 1U);  // a machine that is busy adds more
  EXPECT_NE(notes[0].find("nvmlDeviceGetTotalEnergyConsumption has not returned"), std::string::npos);
  const auto stale = run.log.Lacking(0, Signal::kUtilization);
  ASSERT_FALSE(stale.empty());
  EXPECT_EQ(stale[0].second, Unobserved::kStale);
  EXPECT_GE(run.sampler->statistics().missed, 9);  // of the tenth of a second that it hung at least
  EXPECT_GE(run.log.Notes(NoteKind::kMissedTicks).size(), 1U);
  EXPECT_TRUE(run.log.InOrder());
}

TEST(Sampler, ACallThatNeverReturnsIsLeftBehind) {
  auto run = std::make_unique<Live>("gpu 0\nhang nvmlDeviceGetClockInfo\n", kShort);
  const StandIn driver = run->driver;
  run->Start();
  Await([&] { return driver.Counts().hanging == 1; });
  run->sampler->Stop();  // or the test never ends
  EXPECT_TRUE(run->sampler->statistics().abandoned);
  const std::int64_t calls = driver.Counts().calls;
  run.reset();  // the sink and the table of devices are gone; whoever returns now must not touch them
  driver.Release();
  Await([&] { return driver.Counts().hanging == 0 && driver.Counts().calls > calls; });
  Sleep(50);
  EXPECT_EQ(driver.Counts().calls, calls + 1);  // the call that hung ended, and no other followed
}

struct Latch {
  std::atomic<bool> reached{false};
  std::atomic<bool> open{false};
  std::atomic<bool> passed{false};
};

// A lane that hangs where no driver is, in a file system say.
class StuckLane : public Lane {
 public:
  explicit StuckLane(std::shared_ptr<Latch> latch) : latch_(std::move(latch)) {}
  void Tick(Instant now, LiveSink& out) override {
    latch_->reached = true;
    Await([&] { return latch_->open.load(); });
    out.OnNote({now, NoteKind::kFailure, "late"});
    latch_->passed = true;
  }

 private:
  std::shared_ptr<Latch> latch_;
};

// Counts its ticks.
class CountingLane : public Lane {
 public:
  explicit CountingLane(std::shared_ptr<std::atomic<int>> ticks) : ticks_(std::move(ticks)) {}
  void Tick(Instant, LiveSink&) override { ++*ticks_; }

 private:
  std::shared_ptr<std::atomic<int>> ticks_;
};

TEST(Sampler, AHangHoldsUpOnlyTheLanesBesideIt) {
  Live run("gpu 0\nhang nvmlDeviceGetClockInfo\n", kShort);
  const auto ticks = std::make_shared<std::atomic<int>>(0);
  std::vector<std::unique_ptr<Lane>> other;
  other.push_back(std::make_unique<CountingLane>(ticks));
  run.sampler->Serve(std::move(other), kForever);
  run.Start();
  Await([&] { return run.driver.Counts().hanging == 1; });
  const int before = *ticks;
  Await([&] { return *ticks >= before + 20; });
  run.sampler->Stop();
  EXPECT_TRUE(run.sampler->statistics().abandoned);
  EXPECT_GE(run.sampler->statistics().ticks, 20);  // those of the other
  run.driver.Release();
}

// What nobody expects to hang, but a busy machine delays, is waited for longer than a driver.
TEST(Sampler, EachThreadHasItsOwnPatience) {
  Live run("gpu 0\n", kShort);
  const auto latch = std::make_shared<Latch>();
  std::vector<std::unique_ptr<Lane>> slow;
  slow.push_back(std::make_unique<StuckLane>(latch));
  run.sampler->Serve(std::move(slow), kForever);
  Await([&] { return latch->reached.load(); });
  std::thread later([&] {
    Sleep(400);  // twice what a driver gets
    latch->open = true;
  });
  run.sampler->Stop();
  later.join();
  EXPECT_FALSE(run.sampler->statistics().abandoned);
  EXPECT_EQ(run.log.Notes(NoteKind::kFailure), std::vector<std::string>{"late"});  // nothing of it is lost
}

TEST(Sampler, NothingReachesTheSinkAfterStop) {
  const auto latch = std::make_shared<Latch>();
  LiveLog log;
  std::vector<std::unique_ptr<Lane>> lanes;
  lanes.push_back(std::make_unique<StuckLane>(latch));
  SamplerOptions options;
  options.patience = Nanos(20'000'000);
  const auto clock = SystemClock();
  Sampler sampler(options, clock, TimeLine(clock->Read()), log);
  sampler.Serve(std::move(lanes));
  Await([&] { return latch->reached.load(); });
  sampler.Stop();
  EXPECT_TRUE(sampler.statistics().abandoned);
  latch->open = true;
  Await([&] { return latch->passed.load(); });
  EXPECT_TRUE(log.notes.empty());
}

TEST(Sampler, NeverStartedIsStoppedToo) {
  Live run("gpu 0\n");
  run.sampler->Stop();
  EXPECT_EQ(run.sampler->statistics().ticks, 0);
}

TEST(LiveGpus, WithoutAGpuThereAreNoLanesButAReason) {
  DeviceTable devices;
  LiveLog log;
  const auto clock = SystemClock();
  LiveGpuOptions options;
  options.nvml_library = "/proc/nowhere/libnvidia-ml.so.1";
  options.sysfs = "/proc/nowhere";
  const LiveGpus gpus = LiveGpus::Open(options, devices, log, clock, TimeLine(clock->Read()));
  EXPECT_TRUE(gpus.lanes.empty());
  EXPECT_NE(gpus.why_not.find("/proc/nowhere/libnvidia-ml.so.1"), std::string::npos);
}

TEST(LiveGpus, NobodyWaitsForADriverThatHangsOnceTheRunIsOver) {
  const StandIn driver("gpu 0\nhang nvmlInit_v2\n");
  DeviceTable devices;
  LiveLog log;
  const auto clock = SystemClock();
  LiveGpuOptions options;
  options.nvml_library = driver.path();
  options.sysfs = "/proc/nowhere";
  std::stop_source over;
  over.request_stop();
  const LiveGpus gpus = LiveGpus::Open(options, devices, log, clock, TimeLine(clock->Read()), over.get_token());
  EXPECT_EQ(gpus.nvidia.trouble, NvidiaTrouble::kSilent);
  driver.Release();
  Sleep(50);
}

TEST(LiveGpus, ADriverThatHangsIsLeftAloneAndNamed) {
  const StandIn driver("gpu 0\nhang nvmlInit_v2\n");
  auto devices = std::make_unique<DeviceTable>();
  LiveLog log;
  const auto clock = SystemClock();
  LiveGpuOptions options;
  options.nvml_library = driver.path();
  options.sysfs = "/proc/nowhere";
  options.patience = Nanos(100'000'000);
  const LiveGpus gpus = LiveGpus::Open(options, *devices, log, clock, TimeLine(clock->Read()));
  EXPECT_TRUE(gpus.lanes.empty());
  EXPECT_TRUE(SaysSilent(gpus.why_not)) << gpus.why_not;
  EXPECT_NE(gpus.why_not.find("or it hangs; see dmesg"), std::string::npos) << gpus.why_not;
  EXPECT_TRUE(log.notes.empty());  // it was given up before that was slow
  devices.reset();
  driver.Release();
  Sleep(50);  // whoever returns now must not touch the devices
}

TEST(LiveGpus, ADriverThatLoadsFirstIsSaidToBeSlowAndTakenWhenItAnswers) {
  const StandIn driver("clock real\ngpu 0\nhang nvmlInit_v2 for=400ms\n");
  DeviceTable devices;
  LiveLog log;
  const auto clock = SystemClock();
  LiveGpuOptions options;
  options.nvml_library = driver.path();
  options.sysfs = "/proc/nowhere";
  options.slow_after = Nanos(50'000'000);
  std::vector<std::string> told;
  options.tell_slow = [&told](const std::string& text) { told.push_back(text); };
  const LiveGpus gpus = LiveGpus::Open(options, devices, log, clock, TimeLine(clock->Read()));
  EXPECT_EQ(gpus.lanes.size(), 1U) << gpus.why_not;
  ASSERT_EQ(told.size(), 1U);
  EXPECT_TRUE(SaysSilent(told[0])) << told[0];
  EXPECT_EQ(log.Notes(NoteKind::kSlowDriver), told);
}

// Runs out of memory at its third tick.
class FailingLane final : public Lane {
 public:
  explicit FailingLane(std::atomic<int>* ticks) : ticks_(ticks) {}
  void Tick(Instant /*now*/, LiveSink& /*out*/) override {
    if (++*ticks_ == 3) throw std::bad_alloc();
  }

 private:
  std::atomic<int>* ticks_;
};

// What one thread throws ends that thread: the others go on, and it is told.
TEST(SamplerTest, ALaneThatFailsTakesNobodyAlong) {
  Live live("gpu 0\nat 0s gpu 0 util=50\n");
  live.Start();
  std::atomic<int> ticks = 0;
  std::vector<std::unique_ptr<Lane>> failing;
  failing.push_back(std::make_unique<FailingLane>(&ticks));
  live.sampler->Serve(std::move(failing));
  for (int look = 0; look < 3000 && ticks < 3; ++look) Sleep(10);
  std::size_t seen = 0;
  live.Seen([&] { return (seen = live.log.samples.size()) > 0; });
  bool more = false;
  for (int look = 0; look < 3000 && !more; ++look) {
    Sleep(10);
    more = live.Seen([&] { return live.log.samples.size() > seen; });
  }
  EXPECT_TRUE(more);
  live.sampler->Stop();
  EXPECT_EQ(ticks, 3);
  EXPECT_EQ(live.sampler->statistics().failures, std::vector<std::string>{std::bad_alloc().what()});
}

RunFacts FactsOfRun(const SamplerStatistics& statistics) {
  RunFacts facts;
  for (const RunFact& fact : SamplerFacts(statistics)) facts[fact.key] = fact.value;
  return facts;
}

TEST(SamplerFacts, TellTicksTheirLatenessAndEveryFunctionsCalls) {
  SamplerStatistics statistics;
  statistics.ticks = 600;
  statistics.missed = 3;
  for (int i = 0; i < 200; ++i) statistics.late.Add(Nanos(i == 0 ? 9000 : 10));
  statistics.work.Add(Nanos(15));
  statistics.calls = {{"nvmlDeviceGetPowerUsage", 7, Nanos(1), Nanos(2), Nanos(3), Nanos(9)}};
  const RunFacts whole = {{"sampler.ticks", "600"},
                          {"sampler.missed", "3"},
                          {"sampler.late_p99", "10"},
                          {"sampler.late_max", "9000"},
                          {"sampler.work_p99", "15"},
                          {"sampler.work_max", "15"},
                          {"sampler.calls.nvmlDeviceGetPowerUsage", "7 1 2 3"}};
  EXPECT_EQ(FactsOfRun(statistics), whole);
  statistics.abandoned = true;
  EXPECT_EQ(FactsOfRun(statistics)["sampler.abandoned"], "yes");
}

}  // namespace

}  // namespace idleburn
