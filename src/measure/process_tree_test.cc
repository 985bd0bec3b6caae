#include "measure/process_tree.h"

#include <gtest/gtest.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <chrono>
#include <thread>
#include <vector>

#include "support/fake_proc.h"
#include "support/property.h"

namespace idleburn {

namespace {

constexpr std::size_t kLauncher = 11;
constexpr std::size_t kTraining = 22;
constexpr std::size_t kTool = 33;

ProcessReading Reading(pid_t pid, pid_t parent, std::size_t command, std::int64_t second, std::int64_t cpu,
                       std::int64_t wait = 0, std::int64_t blocked = 0) {
  return {pid, parent, command, Instant::FromNanos(second * kNanosPerSecond), cpu, wait, blocked};
}

TEST(WorkerSums, AreThoseOfProcessesForkedFromAnother) {
  WorkerSums sums;
  for (const std::int64_t s : {0, 1}) {
    const std::vector<ProcessReading> all = {
        Reading(1, 0, kLauncher, s, 1000 * s), Reading(2, 1, kTraining, s, 2000 * s),
        Reading(3, 2, kTraining, s, 10 * s, 20 * s, 30 * s), Reading(4, 2, kTraining, s, 1 * s, 2 * s, 3 * s),
        Reading(5, 2, kTool, s, 7000 * s)};  // a tool that the training started
    sums.Update(all);
  }
  EXPECT_EQ(sums.times().alive, 2 * kNanosPerSecond);
  EXPECT_EQ(sums.times().cpu, 11);
  EXPECT_EQ(sums.times().wait, 22);
  EXPECT_EQ(sums.times().blocked, 33);
}

// Python's fork server has the command line of the workers below it, and is none itself.
TEST(WorkerSums, WhatStandsBetweenIsNoWorker) {
  WorkerSums sums;
  for (const std::int64_t s : {0, 1}) {
    const std::vector<ProcessReading> all = {Reading(2, 1, kTraining, s, 0), Reading(3, 2, kTraining, s, 500 * s),
                                             Reading(4, 3, kTraining, s, 10 * s)};
    sums.Update(all);
  }
  EXPECT_EQ(sums.times().cpu, 10);
}

TEST(WorkerSums, RanksOfALauncherAndProcessesOfUnknownCommandAreNone) {
  WorkerSums sums;
  for (const std::int64_t s : {0, 1}) {
    const std::vector<ProcessReading> all = {Reading(1, 0, kLauncher, s, 0), Reading(2, 1, kTraining, s, 9 * s),
                                             Reading(3, 1, kTraining, s, 9 * s), Reading(4, 0, 0, s, 0),
                                             Reading(5, 4, 0, s, 9 * s)};
    sums.Update(all);
  }
  EXPECT_EQ(sums.times().alive, 0);
  EXPECT_EQ(sums.times().cpu, 0);
}

TEST(WorkerSums, ANumberThatAnotherProcessHasCountsFromItsFirstReading) {
  WorkerSums sums;
  const auto at = [&](std::int64_t s, std::int64_t cpu) {
    const std::vector<ProcessReading> all = {Reading(2, 1, kTraining, s, 0), Reading(3, 2, kTraining, s, cpu)};
    sums.Update(all);
  };
  at(0, 500);
  at(1, 20);  // another process
  at(1, 20);  // not read again
  at(2, 25);
  EXPECT_EQ(sums.times().alive, kNanosPerSecond);
  EXPECT_EQ(sums.times().cpu, 5);
}

constexpr int kRoot = 100;
constexpr int kUs = 50;

struct FakeTree {
  FakeTree() : processes(root, kUs) {
    processes[1].parent = 0;
    processes[kUs].parent = 1;
    processes[kRoot].parent = kUs;
  }
  ProcessTree& tree() {
    if (!made) {
      ProcessTreeSpec spec;
      spec.proc = root.path() + "/proc";
      spec.root = kRoot;
      spec.adopter = kUs;
      spec.not_ours = {51};
      spec.run_id = "run-7";
      spec.reaped = reaped;
      made.emplace(std::move(spec), &files);
    }
    return *made;
  }
  // One tick, a second after the last unless told otherwise.
  void Tick(bool scan = true) {
    processes.Publish();
    if (scan) tree().Scan();
    now = now + step;
    tree().Tick(now, Nanos(kNanosPerSecond));
    tree().ReadWaits();
  }
  [[nodiscard]] std::int64_t CpuTicks() const { return made->used()[ProcessTree::kCpu] / 10'000'000; }

  test::FakeRoot root;
  test::FakeProcesses processes;
  std::shared_ptr<ReapedUsage> reaped = std::make_shared<ReapedUsage>();
  OpenFileBudget files{64};
  std::optional<ProcessTree> made;
  Instant now;
  Nanos step{kNanosPerSecond};
};

TEST(ProcessTree, FindsChildrenAdoptedOrphansSessionsAndTheMarked) {
  FakeTree fake;
  fake.processes[101].parent = kRoot;
  fake.processes[102].parent = 101;
  fake.processes[51].parent = kUs;   // a helper of ours
  fake.processes[103].parent = kUs;  // an orphan
  fake.processes[104].parent = 1;    // in a session that one of them leads
  fake.processes[104].session = 101;
  fake.processes[105].parent = 1;  // started elsewhere for this run
  fake.root.Write("/proc/105/environ", std::string("A=1\0IDLEBURN_RUN_ID=run-7\0B=2\0", 30));
  fake.processes[106].parent = 1;  // of another run
  fake.root.Write("/proc/106/environ", std::string("IDLEBURN_RUN_ID=run-77\0", 23));
  fake.processes[99].parent = 102;  // pids have wrapped around
  fake.Tick();
  for (const int pid : {kRoot, 101, 102, 103, 104, 105, 99}) EXPECT_TRUE(fake.tree().Has(pid)) << pid;
  for (const int pid : {1, kUs, 51, 106}) EXPECT_FALSE(fake.tree().Has(pid)) << pid;
  EXPECT_EQ(fake.tree().processes(), 7);
}

// A batch system's daemon forks, and only then becomes the rank with its environment.
TEST(ProcessTree, LooksTwiceAtAProcessThatBecomesAnother) {
  FakeTree fake;
  fake.processes[105].parent = 1;
  fake.Tick();
  EXPECT_FALSE(fake.tree().Has(105));
  fake.root.Write("/proc/105/environ", std::string("IDLEBURN_RUN_ID=run-7\0", 22));
  fake.Tick();
  EXPECT_TRUE(fake.tree().Has(105));
}

TEST(ProcessTree, WhatEndedStaysCountedOnce) {
  FakeTree fake;
  fake.processes[kRoot].cpu_ticks = 10;
  fake.processes[101].parent = kRoot;
  fake.processes[101].cpu_ticks = 300;
  fake.processes[101].read_bytes = 4096;
  fake.Tick();
  EXPECT_EQ(fake.CpuTicks(), 310);
  fake.processes[101].cpu_ticks = 305;  // after the last look
  fake.processes.End(101);
  fake.Tick();
  EXPECT_EQ(fake.CpuTicks(), 315);
  EXPECT_EQ(fake.tree().used()[ProcessTree::kReadBytes], 4096);
  fake.processes[kRoot].cpu_ticks = 11;
  fake.Tick();
  EXPECT_EQ(fake.CpuTicks(), 316);
}

TEST(ProcessTree, LooksOnceASecondAtWhatAChildReadsAndMissesNothingOfItsEnd) {
  FakeTree fake;
  fake.step = Nanos(kNanosPerSecond / 10);
  fake.processes[101].parent = kRoot;
  fake.processes[101].read_bytes = 4096;
  fake.processes[102].parent = kRoot;
  const auto read = [&] { return fake.tree().used()[ProcessTree::kReadBytes]; };
  fake.Tick();
  EXPECT_EQ(read(), 4096);
  fake.processes[101].read_bytes = 8192;
  fake.processes[102].read_bytes = 100;
  fake.processes[kRoot].read_bytes = 1;  // of whom nobody here would tell
  fake.Tick();
  EXPECT_EQ(read(), 4097);
  fake.processes.End(101);
  fake.Tick();
  EXPECT_EQ(read(), 8193);
  for (int i = 0; i < 8; ++i) fake.Tick();
  EXPECT_EQ(read(), 8293);
}

// A parent that ignores SIGCHLD is told nothing: the last reading stands.
TEST(ProcessTree, WhatNobodyWaitedForKeepsItsLastReading) {
  FakeTree fake;
  fake.processes[101].parent = kRoot;
  fake.processes[101].cpu_ticks = 300;
  fake.Tick();
  fake.processes.End(101, false);
  fake.Tick();
  EXPECT_EQ(fake.CpuTicks(), 300);
  fake.processes[kRoot].cpu_ticks = 40;
  fake.Tick();
  EXPECT_EQ(fake.CpuTicks(), 340);
}

TEST(ProcessTree, WhatWeWaitForIsTakenFromThere) {
  FakeTree fake;
  fake.processes[103].parent = kUs;
  fake.processes[103].cpu_ticks = 200;
  fake.Tick();
  fake.processes.End(103, false);
  fake.Tick();  // /proc has forgotten it before we were told
  EXPECT_EQ(fake.CpuTicks(), 200);
  rusage used{};
  used.ru_utime.tv_sec = 2;
  used.ru_stime.tv_usec = 500'000;
  fake.reaped->Add(used);
  fake.Tick();
  EXPECT_EQ(fake.CpuTicks(), 250);
  fake.Tick();
  EXPECT_EQ(fake.CpuTicks(), 250);
}

TEST(ProcessTree, APidOfAnotherProcessIsAnotherProcess) {
  FakeTree fake;
  fake.processes[101].parent = kRoot;
  fake.processes[101].cpu_ticks = 300;
  fake.Tick();
  fake.processes.End(101);
  fake.processes[101].parent = 1;
  fake.processes[101].start = 999;
  fake.processes[101].cpu_ticks = 50'000;
  fake.Tick();
  EXPECT_FALSE(fake.tree().Has(101));
  EXPECT_EQ(fake.CpuTicks(), 300);
}

TEST(ProcessTree, TimeInStateDIsBlocked) {
  FakeTree fake;
  fake.Tick();
  fake.processes[kRoot].state = 'D';
  fake.Tick();
  fake.Tick();
  fake.processes[kRoot].state = 'R';
  fake.Tick();
  EXPECT_EQ(fake.tree().blocked(), 2 * kNanosPerSecond);
}

TEST(ProcessTree, WaitsOfThreadsAddUpAndStay) {
  FakeTree fake;
  fake.processes[kRoot].wait_ns = 10;
  fake.processes[kRoot].threads = 3;
  fake.root.Write("/proc/100/task/150/schedstat", "5 1000 1\n");
  fake.root.Write("/proc/100/task/151/schedstat", "5 500 1\n");
  fake.Tick();
  EXPECT_EQ(fake.tree().run_queue_wait(), 1510);
  fake.root.Remove("/proc/100/task/150");
  fake.Tick();
  EXPECT_EQ(fake.tree().run_queue_wait(), 1510);
  fake.root.Write("/proc/100/task/151/schedstat", "5 20 1\n");  // another thread of that number
  fake.Tick();
  EXPECT_EQ(fake.tree().run_queue_wait(), 1530);
}

TEST(ProcessTree, WhatMayNotBeReadIsSaid) {
  FakeTree fake;
  fake.processes.Publish();
  fake.root.Remove("/proc/100/io");
  fake.root.Write("/proc/100/io/no-file", "");  // a folder there cannot be read, even by root
  fake.tree().Scan();
  fake.tree().Tick(Instant(), Nanos(0));
  EXPECT_TRUE(fake.tree().seen());
  EXPECT_TRUE(fake.tree().io_denied());
}

TEST(ProcessTree, AThousandAtOnceAreFoundWithinATenthOfTheirNumberOfLooks) {
  FakeTree fake;
  for (int i = 0; i < 1000; ++i) fake.processes[1000 + i].parent = kRoot;
  fake.Tick();
  for (int tick = 0; tick < 9; ++tick) fake.tree().Tick(fake.now, Nanos(0));
  EXPECT_EQ(fake.tree().processes(), 1001);
  EXPECT_LE(fake.files.open, fake.files.most);
}

TEST(ProcessTree, OnACrowdedMachineTheWorkloadIsFoundFirst) {
  FakeTree fake;
  fake.processes.End(kRoot);
  for (int i = 0; i < 500; ++i) fake.processes[1000 + i].parent = 1;
  fake.processes[2000].parent = kUs;
  fake.processes[2001].parent = 2000;
  fake.processes.Publish();
  ProcessTreeSpec spec;
  spec.proc = fake.root.path() + "/proc";
  spec.root = 2000;
  ProcessTree tree(spec, &fake.files);
  tree.Scan();
  tree.Tick(Instant(), Nanos(0));
  EXPECT_EQ(tree.processes(), 2);
}

// While a process is being waited for its parent has what it used already, or not yet, and both are still to be read.
TEST(ProcessTree, WhatIsBeingWaitedForIsCountedOnce) {
  for (const bool parent_first : {false, true}) {
    FakeTree fake;
    fake.processes[kRoot].cpu_ticks = 10;
    fake.processes[101].parent = kRoot;
    fake.processes[101].cpu_ticks = 300;
    fake.Tick();
    const auto wait = [&] {
      fake.processes[kRoot].waited_ticks += 300;
      fake.processes[kRoot].waited_faults += 50;
    };
    if (parent_first) wait();
    fake.processes[101].state = 'X';
    for (int i = 0; i < 3; ++i) fake.Tick();
    EXPECT_EQ(fake.CpuTicks(), 310) << parent_first;
    if (!parent_first) wait();
    fake.processes.End(101, false);
    for (int i = 0; i < 3; ++i) fake.Tick();
    EXPECT_EQ(fake.CpuTicks(), 310) << parent_first;
    fake.processes[kRoot].cpu_ticks += 5;
    fake.Tick();
    EXPECT_EQ(fake.CpuTicks(), 315) << parent_first;
  }
}

// An orphan's end is told of here, and its first parent's to another.
TEST(ProcessTree, WhatEndsWithItsParentIsCountedOnce) {
  for (const bool told_later : {false, true}) {
    FakeTree fake;
    fake.step = Nanos(kNanosPerSecond / 10);
    fake.processes[101].parent = kRoot;
    fake.processes[101].cpu_ticks = 10;
    fake.processes[102].parent = 101;
    fake.processes[102].cpu_ticks = 100;
    fake.Tick();
    EXPECT_EQ(fake.CpuTicks(), 110);
    fake.processes.End(101);
    fake.processes.End(102);
    if (told_later) fake.Tick();
    EXPECT_EQ(fake.CpuTicks(), 110);
    rusage used{};
    used.ru_utime.tv_sec = 1;
    fake.reaped->Add(used);
    for (int i = 0; i < 20; ++i) fake.Tick();
    EXPECT_EQ(fake.CpuTicks(), 110) << told_later;
  }
}

// Whatever starts, works, forks and ends, in whatever order it is adopted, waited for and told of, and however few
// looks are taken: the sum never falls, never exceeds what was truly used, and is all of it in the end.
TEST(ProcessTree, SumsRiseToTheTruth) {
  test::ExpectProperty("truth", [] {
    FakeTree fake;
    std::int64_t truth = 0;
    std::int64_t last = 0;
    std::int64_t untold = 0;  // ticks of orphans that ended
    int next_pid = 101;
    const auto tell = [&] {
      rusage used{};
      used.ru_utime.tv_sec = untold / 100;
      used.ru_utime.tv_usec = untold % 100 * 10'000;
      fake.reaped->Add(used);
      untold = 0;
    };
    const auto steps = *rc::gen::container<std::vector<std::tuple<int, int, int>>>(
        rc::gen::tuple(rc::gen::inRange(0, 6), rc::gen::inRange(0, 1000), rc::gen::inRange(1, 50)));
    fake.Tick();
    fake.step = Nanos(kNanosPerSecond / 10);
    for (const auto& [action, which, amount] : steps) {
      std::vector<int> alive;
      for (const auto& [pid, process] : fake.processes.all()) {
        if (pid >= kRoot) alive.push_back(pid);
      }
      const int pid = alive[static_cast<std::size_t>(which) % alive.size()];
      const test::FakeProcess& process = fake.processes[pid];
      if (action == 0) {
        fake.processes[next_pid++].parent = pid;
      } else if (action == 1 && pid != kRoot) {
        if (process.parent == kUs) untold += process.cpu_ticks + process.waited_ticks;
        fake.processes.End(pid);
      } else if (action == 2) {
        fake.Tick(amount % 2 == 0);
      } else if (action == 3) {
        tell();
      } else {
        fake.processes[pid].cpu_ticks += amount;
        truth += amount;
      }
      RC_ASSERT(fake.CpuTicks() >= last);
      RC_ASSERT(fake.CpuTicks() <= truth);
      last = fake.CpuTicks();
    }
    tell();
    for (int i = 0; i < 12; ++i) fake.Tick();  // until nothing is awaited any more
    RC_ASSERT(fake.CpuTicks() == truth);
  });
}

// Spins for so long of its own time on a CPU.
void Burn(std::int64_t microseconds) {
  const auto used = [] {
    rusage usage{};
    getrusage(RUSAGE_SELF, &usage);
    return (usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) * 1'000'000 + usage.ru_utime.tv_usec +
           usage.ru_stime.tv_usec;
  };
  while (used() < microseconds) {
  }
}

// A program whose workers, and a process of each, end at the same moment, again and again; some leave it an orphan.
[[noreturn]] void WorkersThatEndTogether() {
  for (int round = 0; round < 8; ++round) {
    std::array<int, 2> done{};
    std::array<int, 2> end{};
    char byte = 0;
    if (pipe(done.data()) != 0 || pipe(end.data()) != 0) _exit(1);
    const auto work = [&] {
      Burn(21'000);  // two ticks of /proc, which tells of no less
      if (write(done[1], &byte, 1) != 1) _exit(1);
      close(end[1]);
      if (read(end[0], &byte, 1) != 0) _exit(1);
    };
    for (int i = 0; i < 6; ++i) {
      if (fork() != 0) continue;
      const pid_t child = fork();
      work();
      if (child > 0 && i % 3 != 0) waitpid(child, nullptr, 0);
      _exit(0);
    }
    for (int i = 0; i < 12; ++i) {
      if (read(done[0], &byte, 1) != 1) _exit(1);
    }
    for (const int fd : {done[0], done[1], end[1], end[0]}) close(fd);
    for (int i = 0; wait(nullptr) > 0; ++i) usleep(static_cast<useconds_t>(round * i * 8));
  }
  _exit(0);
}

// Looked at without a pause, so that processes end, are adopted and waited for between any two readings.
TEST(ProcessTree, WhatEndsBetweenTwoReadingsIsCountedOnce) {
  if (prctl(PR_SET_CHILD_SUBREAPER, 1) != 0) GTEST_SKIP() << "this kernel makes nobody the parent of orphans";
  ProcessTreeSpec spec;
  const auto reaped = std::make_shared<ReapedUsage>();
  spec.reaped = reaped;
  spec.adopter = getpid();
  spec.root = fork();
  if (spec.root == 0) WorkersThatEndTogether();
  std::atomic<bool> over = false;
  std::thread waiter([&] {
    rusage used{};
    while (wait4(-1, nullptr, 0, &used) > 0) reaped->Add(used);
    over = true;
  });
  OpenFileBudget files{64};
  ProcessTree tree(spec, &files);
  const auto now = [] { return Instant::FromNanos(std::chrono::steady_clock::now().time_since_epoch().count()); };
  while (!over) {
    tree.Scan();
    tree.Tick(now(), Nanos(0));
  }
  waiter.join();
  prctl(PR_SET_CHILD_SUBREAPER, 0);
  for (int i = 0; i < 30; ++i) tree.Tick(now() + Nanos(i * kNanosPerSecond), Nanos(0));
  EXPECT_EQ(tree.processes(), 0);
  EXPECT_GE(tree.used()[ProcessTree::kCpu], reaped->total().cpu_ns);
  EXPECT_LE(tree.used()[ProcessTree::kCpu], reaped->total().cpu_ns + 20'000'000);
  EXPECT_GE(reaped->total().cpu_ns, 8 * 6 * 2 * 21'000'000LL);
}

}  // namespace

}  // namespace idleburn
