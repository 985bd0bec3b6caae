// What a kill of the program itself, at any moment, leaves of what it had read.
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <random>
#include <thread>

#include "support/live_command.h"
#include "support/read_inputs.h"
#include "support/recorded_log.h"
#include "support/stall_watch.h"

namespace idleburn::testing {
namespace {

constexpr double kMayBeLost = 1;

struct Asked {
  Signal signal;
  double period;  // seconds from one reading to the next
};

// One program that records until it is killed, and what is there afterwards.
class Recorder {
 public:
  Recorder(double window, const std::string& command)
      : window_(window),
        machine_("gpu 0 window=" + std::to_string(static_cast<int>(window * 1e6)) + "us\ngpu 1 samples=0\n" +
                 "at 0s gpu 0 util=60 sm=40 memory=3GiB\nat 0s gpu 1 util=90\n"),
        ended_(machine_.Begin("$I " + command + " >/dev/null 2>&1 </dev/null & echo $! >$F/pid; wait")) {}

  // True once it has written a first reading.
  [[nodiscard]] bool Began() const {
    const std::string pid = ReadText(machine_.Path("pid"));
    if (pid.empty() || !std::filesystem::exists(machine_.Path("k.idleburn.journal"))) return false;
    return !RecordedLog(machine_.Path("k.idleburn")).log.Of(0, Signal::kMemoryUsed).empty();
  }

  void KillAndJudge(double stalled) {
    const double killed = std::chrono::duration<double>(std::chrono::system_clock::now().time_since_epoch()).count();
    ASSERT_EQ(kill(static_cast<pid_t>(std::stol(ReadText(machine_.Path("pid")))), SIGKILL), 0);
    ended_.wait();
    const std::string child = ReadText(machine_.Path("child"));
    if (!child.empty()) kill(static_cast<pid_t>(std::stol(child)), SIGKILL);
    const RecordedLog kept(machine_.Path("k.idleburn"));
    EXPECT_FALSE(kept.closed);
    EXPECT_EQ(kept.quality.CountOf(QualityId::kBadRow), 0);
    EXPECT_TRUE(kept.log.InOrder());
    const Asked asked[] = {{Signal::kPower, 0.1},          {Signal::kEnergy, 0.1},   {Signal::kSmClock, 0.1},
                           {Signal::kSmActive, 0.2},       {Signal::kMemoryUsed, 1}, {Signal::kTemperature, 1},
                           {Signal::kUtilization, window_}};
    for (const Asked& a : asked) {
      const auto readings = kept.log.Of(0, a.signal);
      ASSERT_FALSE(readings.empty());
      const double newest = static_cast<double>(readings.back().first.nanos()) / 1e9;
      // What was read a second before the kill, or published by the driver then, is there.
      EXPECT_GE(newest, killed - kMayBeLost - a.period - stalled)
          << kSignals[Index(a.signal)].name << ", window " << window_;
      EXPECT_LE(newest, killed + 0.1);
    }
    const auto power = kept.log.Of(0, Signal::kPower);
    EXPECT_GE(static_cast<double>(power.back().first.nanos()) / 1e9, killed - kMayBeLost - stalled) << window_;
  }

 private:
  double window_;
  LiveMachine machine_;
  std::future<ProgramRun> ended_;
};

TEST(KillTest, AKillOfTheProgramCostsASecondOfReadingsAtMost) {
  std::mt19937 random(7);
  std::vector<std::unique_ptr<Recorder>> recorders;
  for (int i = 0; i < 10; ++i) {
    const bool beside = i % 3 == 0;
    recorders.push_back(std::make_unique<Recorder>(
        i % 2 == 0 ? 1.0 / 6 : 1.0, beside
                                        ? "record --quiet -o $F/k.idleburn"
                                        : "run --recording $F/k.idleburn -- sh -c 'echo $$ >$F/child; exec sleep 90'"));
  }
  int judged = 0;
  for (const auto& recorder : recorders) {
    for (int waited = 0; waited < 200 && !recorder->Began(); ++waited) usleep(100'000);
    const StallWatch watch;
    std::this_thread::sleep_for(std::chrono::milliseconds(1200 + random() % 800));
    const double stalled = watch.longest_seconds();
    judged += stalled < 0.2 ? 1 : 0;
    recorder->KillAndJudge(stalled < 0.2 ? 2 * stalled : 60);
  }
  if (judged == 0) GTEST_SKIP() << "the machine never let a program run for a second without a stall";
}

}  // namespace
}  // namespace idleburn::testing
