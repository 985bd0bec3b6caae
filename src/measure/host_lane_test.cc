#include "measure/host_lane.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <functional>
#include <thread>

#include "support/fake_proc.h"
#include "support/live_log.h"

namespace idleburn {
namespace {

using testing::LiveLog;

// A real process that does `work` and then waits to be killed.
class RealProcess {
 public:
  explicit RealProcess(const std::function<void()>& work) : pid_(fork()) {
    if (pid_ == 0) {
      prctl(PR_SET_PDEATHSIG, SIGKILL);
      work();
      while (true) pause();
    }
  }
  ~RealProcess() {
    kill(pid_, SIGKILL);
    waitpid(pid_, nullptr, 0);
  }
  RealProcess(const RealProcess&) = delete;
  RealProcess& operator=(const RealProcess&) = delete;
  [[nodiscard]] pid_t pid() const { return pid_; }

 private:
  pid_t pid_;
};

void Burn(std::int64_t milliseconds) {
  timespec used{};
  do clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &used);
  while (used.tv_sec * 1000 + used.tv_nsec / 1'000'000 < milliseconds);
}

std::int64_t ThreadCpuNanos() {
  timespec used{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &used);
  return used.tv_sec * kNanosPerSecond + used.tv_nsec;
}

HostLaneSpec Watching(pid_t pid, std::string root = "") {
  HostLaneSpec spec;
  spec.root = std::move(root);
  spec.workload.emplace();
  spec.workload->pid = pid;
  return spec;
}

Instant At(std::int64_t milliseconds) { return Instant::FromNanos(milliseconds * 1'000'000); }

TEST(HostLane, ReadsThisMachine) {
  HostLane lane({});
  LiveLog log;
  lane.Tick(At(0), log);
  ASSERT_EQ(log.host.size(), 1U);
  EXPECT_EQ(log.Last(HostScope::kMachine, HostSignal::kCpus), sysconf(_SC_NPROCESSORS_ONLN));
  EXPECT_EQ(log.Last(HostScope::kMachine, HostSignal::kMemoryLimit), sysconf(_SC_PHYS_PAGES) * sysconf(_SC_PAGESIZE));
  EXPECT_GT(log.Last(HostScope::kMachine, HostSignal::kCpuTime), 0);
  EXPECT_GT(log.Last(HostScope::kMachine, HostSignal::kMemoryUsed), 0);
  EXPECT_GT(log.Last(HostScope::kMachine, HostSignal::kThreads), 0);
}

TEST(HostLane, TheExpensivePartIsReadOnceASecondWhateverTheClockDoes) {
  HostLane lane({});
  LiveLog log;
  std::vector<bool> slow;
  for (const std::int64_t ms : {0, 100, 900, 1000, 1100, 1999, 2000, 7000, 7100, 8000, 500, 600, 1600}) {
    lane.Tick(At(ms), log);
    slow.push_back(log.host.back().Has(HostSignal::kCpuTime));
  }
  EXPECT_EQ(slow,
            (std::vector<bool>{true, false, false, true, false, false, true, true, false, true, true, false, true}));
}

// A workload that has ended before it was looked at is no fault of /proc; where even we are not in it, it is another's.
TEST(HostLane, AWorkloadThatHasEndedIsNotASecret) {
  const auto said = [](pid_t adopter) {
    HostLaneSpec spec = Watching(999'999'999);  // more than the kernel numbers
    spec.workload->adopter = adopter;
    HostLane lane(std::move(spec));
    LiveLog log;
    lane.Tick(At(0), log);
    return std::any_of(log.notes.begin(), log.notes.end(),
                       [](const Note& note) { return note.text.find("cannot be seen in /proc") != std::string::npos; });
  };
  EXPECT_FALSE(said(getpid()));
  EXPECT_TRUE(said(999'999'998));
}

TEST(HostLane, CountsWhatARealTreeUses) {
  char file[] = "/tmp/idleburn-host-XXXXXX";
  const int written = mkstemp(file);
  ASSERT_GE(written, 0);
  RealProcess workload([&] {
    if (fork() == 0) {
      prctl(PR_SET_PDEATHSIG, SIGKILL);
      setsid();
      Burn(200);
      const std::string block(1 << 20, 'x');
      static_cast<void>(write(written, block.data(), block.size()));
      while (true) pause();
    }
    Burn(100);
  });
  HostLane lane(Watching(workload.pid()));
  LiveLog log;
  for (int i = 0; i < 12; ++i) {
    lane.Tick(At(i * 100), log);
    std::this_thread::sleep_for(std::chrono::milliseconds(100));
  }
  lane.Finish(At(1200), log);  // which looks at everything once more
  const auto cpu = log.Last(HostScope::kWorkload, HostSignal::kCpuTime).value_or(0);
  EXPECT_GE(cpu, 270'000'000);
  EXPECT_LE(cpu, 400'000'000);
  EXPECT_EQ(log.Last(HostScope::kWorkload, HostSignal::kProcesses), 2);
  EXPECT_GE(log.Last(HostScope::kWorkload, HostSignal::kWriteChars), 1 << 20);
  EXPECT_TRUE(log.Last(HostScope::kWorkload, HostSignal::kCpuWait).has_value());
  EXPECT_GT(log.Last(HostScope::kWorkload, HostSignal::kMemoryUsed), 0);
  EXPECT_TRUE(log.notes.empty() || log.notes.front().text.find("pressure") != std::string::npos);
  close(written);
  unlink(file);
}

// Two busy processes on one CPU: each is ready and waits about half of the time.
TEST(HostLane, WaitingForACpuIsSeen) {
  cpu_set_t one;
  CPU_ZERO(&one);
  CPU_SET(0, &one);
  const auto busy = [&] {
    sched_setaffinity(0, sizeof one, &one);
    Burn(1'000'000);
  };
  RealProcess first(busy);
  RealProcess second(busy);
  HostLane lane(Watching(first.pid()));
  LiveLog log;
  std::this_thread::sleep_for(std::chrono::milliseconds(100));
  lane.Tick(At(0), log);
  const auto before = log.Last(HostScope::kWorkload, HostSignal::kCpuWait).value_or(0);
  std::this_thread::sleep_for(std::chrono::milliseconds(1000));
  lane.Tick(At(1000), log);
  const auto waited = log.Last(HostScope::kWorkload, HostSignal::kCpuWait).value_or(0) - before;
  EXPECT_GT(waited, 250'000'000);
  EXPECT_LT(waited, 1'100'000'000);
  EXPECT_EQ(log.Last(HostScope::kWorkload, HostSignal::kCpus), 1);
}

TEST(HostLane, WhatMayNotBeReadIsUnavailableAndNotedOnce) {
  if (geteuid() != 0) GTEST_SKIP() << "needs root, to look as another user";
  const pid_t root_owned = getpid();
  const pid_t child = fork();
  if (child == 0) {
    if (setuid(65534) != 0) _exit(9);
    HostLane lane(Watching(root_owned));
    LiveLog log;
    for (int i = 0; i < 30; ++i) lane.Tick(At(i * 100), log);
    int faults = 0;
    faults += log.Lacks(HostScope::kWorkload, HostSignal::kReadChars) ? 0 : 1;
    faults += log.Last(HostScope::kWorkload, HostSignal::kReadChars) ? 2 : 0;
    faults += log.Last(HostScope::kWorkload, HostSignal::kCpuTime).value_or(0) > 0 ? 0 : 4;
    std::int64_t notes = 0;
    for (const Note& note : log.notes) notes += note.text.find("/PID/io") != std::string::npos ? 1 : 0;
    _exit(faults + (notes == 1 ? 0 : 8));
  }
  int status = 0;
  waitpid(child, &status, 0);
  EXPECT_EQ(WEXITSTATUS(status), 0);
}

TEST(HostLane, AnEmptyProcIsUnavailableEverywhere) {
  test::FakeRoot root;
  HostLane lane(Watching(7, root.path()));
  LiveLog log;
  for (int i = 0; i < 30; ++i) lane.Tick(At(i * 100), log);
  for (const HostSample& sample : log.host) EXPECT_EQ(sample.present, 0U);
  EXPECT_TRUE(log.Lacks(HostScope::kMachine, HostSignal::kCpuTime));
  EXPECT_TRUE(log.Lacks(HostScope::kMachine, HostSignal::kPsiIoFull));
  EXPECT_TRUE(log.Lacks(HostScope::kWorkload, HostSignal::kCpuTime));
  EXPECT_TRUE(log.Lacks(HostScope::kWorkload, HostSignal::kProcesses));
  EXPECT_EQ(log.notes.size(), 3U);
}

TEST(HostLane, PressureThatIsSwitchedOffIsNotZero) {
  test::FakeRoot root;
  root.Write("/proc/stat", "cpu  100 0 0 0 0 0 0 0 0 0\ncpu0 100 0 0 0 0 0 0 0 0 0\n");
  HostLaneSpec spec;
  spec.root = root.path();
  HostLane lane(spec);
  LiveLog log;
  lane.Tick(At(0), log);
  EXPECT_EQ(log.Last(HostScope::kMachine, HostSignal::kCpuTime), kNanosPerSecond);
  EXPECT_TRUE(log.Lacks(HostScope::kMachine, HostSignal::kPsiCpuSome));
  ASSERT_EQ(log.notes.size(), 1U);
  EXPECT_NE(log.notes[0].text.find("psi=1"), std::string::npos);
}

// A thousand real processes at once: each tick stays short, and soon all are known.
TEST(HostLane, AThousandProcessesDoNotStallIt) {
  int ready[2];
  ASSERT_EQ(pipe(ready), 0);
  RealProcess workload([&] {
    for (int i = 0; i < 1000; ++i) {
      if (fork() == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        while (true) pause();
      }
    }
    static_cast<void>(!write(ready[1], "x", 1));
  });
  char byte = 0;
  ASSERT_EQ(read(ready[0], &byte, 1), 1);  // all are there
  HostLane lane(Watching(workload.pid()));
  LiveLog log;
  std::int64_t longest = 0;
  for (int i = 0; i < 25; ++i) {
    const std::int64_t begin = ThreadCpuNanos();
    lane.Tick(At(i * 100), log);
    longest = std::max(longest, ThreadCpuNanos() - begin);
  }
  close(ready[0]);
  close(ready[1]);
  EXPECT_EQ(log.Last(HostScope::kWorkload, HostSignal::kProcesses), 1001);
  EXPECT_LT(longest, 50'000'000);
}

// Sixteen processes at 10 Hz: a small part of one core.
TEST(HostLane, CostsLittle) {
  RealProcess workload([] {
    for (int i = 0; i < 15; ++i) {
      if (fork() == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        while (true) pause();
      }
    }
  });
  std::this_thread::sleep_for(std::chrono::milliseconds(100));
  HostLane lane(Watching(workload.pid()));
  LiveLog log;
  for (int i = 0; i < 10; ++i) lane.Tick(At(i * 100), log);
  const std::int64_t begin = ThreadCpuNanos();
  for (int i = 10; i < 210; ++i) lane.Tick(At(i * 100), log);
  const std::int64_t per_tick = (ThreadCpuNanos() - begin) / 200;
  RecordProperty("microseconds_per_tick", static_cast<int>(per_tick / 1000));
  EXPECT_LT(per_tick, 1'500'000);  // 1.5 % of a core at 10 Hz, on a machine that others use too
}

}  // namespace
}  // namespace idleburn
