// Real processes that mark what their GPU does, the stand-in that derives what a driver would say, and the sampler
// that reads it: the figures must be those that the processes know of themselves.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmath>
#include <cstdlib>
#include <fstream>
#include <nlohmann/json.hpp>
#include <thread>

#include "measure/live_gpus.h"
#include "measure/sampler.h"
#include "places.h"
#include "support/machine_watch.h"
#include "support/program.h"
#include "support/stand_in.h"

namespace idleburn::testing {
namespace {

constexpr double kWindow = 0.166667;

class Training {
 public:
  Training(const TempFolder& folder, const std::string& mode, int device, const std::string& flags)
      : truth_((folder.path() / (mode + ".json")).string()) {
    const std::string command = std::string("exec ") + IDLEBURN_SIMULATED_TRAINING + " " + mode + " 6 --device " +
                                std::to_string(device) + " --truth " + truth_ + " " + flags + " 2>/dev/null";
    pid_ = fork();
    if (pid_ == 0) {
      execl("/bin/sh", "sh", "-c", command.c_str(), nullptr);
      _exit(127);
    }
  }
  [[nodiscard]] nlohmann::json Wait() const {
    int status = 0;
    waitpid(pid_, &status, 0);
    EXPECT_EQ(status, 0);
    std::ifstream in(truth_);
    return nlohmann::json::parse(in, nullptr, false);
  }

 private:
  std::string truth_;
  pid_t pid_ = 0;
};

// Seconds of kernels, as the utilizations of all windows say.
double BusySeconds(const LiveLog& log, DeviceId device) {
  double busy = 0;
  for (const auto& reading : log.Of(device, Signal::kUtilization)) {
    busy += static_cast<double>(reading.second) / static_cast<double>(kFull) * kWindow;
  }
  return busy;
}

double Mean(const LiveLog& log, DeviceId device, Signal signal) {
  double sum = 0;
  const auto readings = log.Of(device, signal);
  for (const auto& reading : readings) sum += static_cast<double>(reading.second);
  return sum / static_cast<double>(readings.size());
}

// The most that was ever read; 0 where nothing was.
std::int64_t Most(const LiveLog& log, DeviceId device, Signal signal) {
  std::int64_t most = 0;
  for (const auto& reading : log.Of(device, signal)) most = std::max(most, reading.second);
  return most;
}

TEST(LiveSampling, FiguresAreThoseTheProcessesKnowOfThemselves) {
  const TempFolder folder;
  const std::string marks = (folder.path() / "marks").string();
  setenv("IDLEBURN_STANDIN_SHM", marks.c_str(), 1);
  const StandIn driver("clock real\ngpu 0\ngpu 1\ngpu 2\ngpu 3\n");
  const std::shared_ptr<RunClock> clock = SystemClock();
  const TimeLine line(clock->Read());
  DeviceTable devices;
  LiveLog log;
  LiveGpuOptions options;
  options.nvml_library = driver.path();
  LiveGpus gpus = LiveGpus::Open(options, devices, log, clock, line);
  ASSERT_EQ(gpus.lanes.size(), 1U) << gpus.why_not;
  Sampler sampler({}, clock, line, log);
  sampler.Serve(std::move(gpus.lanes));
  MachineWatch machine;
  const Training starved(folder, "starved", 0, "--batch-cpu 0.3 --kernel 0.2 --data " IDLEBURN_ROOT "/LICENSE");
  const Training small(folder, "small-batch", 1, "");
  const Training held(folder, "idle-held", 2, "");
  const Training spinning(folder, "spin-wait", 3, "");
  const std::vector<nlohmann::json> truth = {starved.Wait(), small.Wait(), held.Wait(), spinning.Wait()};
  machine.Stop();
  const Instant over = line.At(clock->Monotonic());
  const auto all_read = [&] {  // the windows too that reach over the end
    bool read = true;
    sampler.sink().ChangeDevices([&] {
      for (DeviceId id = 0; id < 4; ++id) {
        const auto windows = log.Of(id, Signal::kUtilization);
        read = read && !windows.empty() && windows.back().first > over;
      }
    });
    return read;
  };
  for (int i = 0; i < 1200 && !all_read(); ++i) std::this_thread::sleep_for(std::chrono::milliseconds(50));
  sampler.Stop();
  unsetenv("IDLEBURN_STANDIN_SHM");

  ASSERT_EQ(devices.size(), 4U);
  EXPECT_TRUE(log.InOrder());
  // A program that may not run when its kernel ends tells of it too late for the window it ended in.
  if (machine.CpuSome() > 0.5) {
    GTEST_SKIP() << "other programs want the CPUs: some task waits " << 100 * machine.CpuSome() << " % of the time";
  }
  EXPECT_TRUE(log.Notes(NoteKind::kFailure).empty());
  for (DeviceId id = 0; id < 4; ++id) {
    const double busy = truth[id].at("busy_s");
    EXPECT_NEAR(BusySeconds(log, id), busy, 0.06) << truth[id].dump();  // 1 % of six seconds
    EXPECT_EQ(Most(log, id, Signal::kMemoryUsed), std::int64_t{20} << 30);
    EXPECT_EQ(Most(log, id, Signal::kProcesses), 1);
  }
  EXPECT_GT(truth[0].at("busy_s"), 0.1);
  EXPECT_GT(truth[1].at("busy_s"), 0.1);
  // What spins looks busy, and its power and its SMs say that it is not.
  EXPECT_GT(BusySeconds(log, 3), 0.5 * static_cast<double>(truth[3].at("seconds")));
  EXPECT_LT(Mean(log, 3, Signal::kSmActive), 0.06 * static_cast<double>(kFull));
  EXPECT_LT(Mean(log, 3, Signal::kPower), 70'000 + 0.1 * 630'000);
  // 70 W for as long as the readings last, and 0.9 of the rest while kernels ran.
  const auto energy = log.Of(0, Signal::kEnergy);
  const double seconds = static_cast<double>((energy.back().first - energy.front().first).count()) / 1e9;
  const double joules = static_cast<double>(energy.back().second - energy.front().second) / 1000;
  EXPECT_NEAR(joules, 70 * seconds + 0.9 * 630 * static_cast<double>(truth[0].at("busy_s")), 0.01 * joules + 10);
}

TEST(LiveSampling, AProgramThatIsKilledHoldsNothingAfterwards) {
  const TempFolder folder;
  const std::string marks = (folder.path() / "marks").string();
  setenv("IDLEBURN_STANDIN_SHM", marks.c_str(), 1);
  const pid_t child = fork();
  if (child == 0) {
    execl(IDLEBURN_SIMULATED_TRAINING, "simulated_training", "compute-bound", "60", "--kernel", "60", nullptr);
    _exit(127);
  }
  const StandIn driver("clock real\ngpu 0\n");
  const std::shared_ptr<RunClock> clock = SystemClock();
  const TimeLine line(clock->Read());
  DeviceTable devices;
  LiveLog log;
  auto library = NvmlLibrary::Open(driver.path(), clock);
  ASSERT_TRUE(library.has_value());
  auto lane = NvmlLane::Open(std::move(*library), Nanos(50'000'000), devices, log, clock, line);
  ASSERT_TRUE(lane.has_value());
  const auto tick_until = [&](const auto& condition) {
    for (int i = 0; i < 1200 && !condition(); ++i) {
      std::this_thread::sleep_for(std::chrono::milliseconds(50));
      (*lane)->Tick(line.At(clock->Monotonic()), log);
    }
  };
  const auto last = [&](Signal signal) {
    const auto readings = log.Of(0, signal);
    return readings.empty() ? -1 : readings.back().second;
  };
  tick_until([&] { return last(Signal::kUtilization) == kFull && last(Signal::kMemoryUsed) > 0; });
  kill(child, SIGKILL);
  waitpid(child, nullptr, 0);
  tick_until([&] { return last(Signal::kUtilization) == 0 && last(Signal::kMemoryUsed) == 0; });
  (*lane)->Finish(line.At(clock->Monotonic()), log);
  unsetenv("IDLEBURN_STANDIN_SHM");
  const auto utilization = log.Of(0, Signal::kUtilization);
  EXPECT_TRUE(std::any_of(utilization.begin(), utilization.end(), [](const auto& r) { return r.second == kFull; }));
  EXPECT_EQ(utilization.back().second, 0);
  EXPECT_EQ(log.Of(0, Signal::kMemoryUsed).back().second, 0);
}

}  // namespace
}  // namespace idleburn::testing
