#include "measure/sampler.h"

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <regex>
#include <thread>

#include "measure/live_gpus.h"
#include "support/stand_in.h"

namespace idleburn {
namespace {

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
  EXPECT_NE(gpus.why_not.find("or it hangs: see dmesg"), std::string::npos) << gpus.why_not;
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

}  // namespace
}  // namespace idleburn
