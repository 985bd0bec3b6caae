#include "measure/host_lane.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <filesystem>
#include <functional>
#include <iterator>
#include <thread>

#include "measure/sampler.h"
#include "support/fake_proc.h"
#include "support/live_log.h"
#include "support/opened_files.h"

namespace idleburn {

namespace {

constexpr const char* kFirst = "/sys/class/infiniband/mlx5_0/ports/1/counters/";
constexpr const char* kSecond = "/sys/class/infiniband/mlx5_1/ports/1/counters/";

class InfinibandTest : public ::testing::Test {
 protected:
  void Put(const std::string& port, std::int64_t received, std::int64_t sent) const {
    root_.Write(port + "port_rcv_data", std::to_string(received) + "\n");
    root_.Write(port + "port_xmit_data", std::to_string(sent) + "\n");
  }
  static HostSample Read(InfinibandPorts& ports) {
    HostSample sample;
    ports.Read(&sample);
    return sample;
  }
  [[nodiscard]] InfinibandPorts Ports() const { return InfinibandPorts(root_.path() + "/sys"); }
  test::FakeRoot root_;
};

TEST_F(InfinibandTest, AddsUpPortsInUnitsOfFourBytes) {
  Put(kFirst, 1000, 10);
  Put(kSecond, 500, 20);
  InfinibandPorts ports = Ports();
  EXPECT_EQ(Read(ports).Get(HostSignal::kRdmaReceived), 0);  // what was before is not the run's
  Put(kFirst, 1250, 11);
  Put(kSecond, 507, 20);
  const HostSample sample = Read(ports);
  EXPECT_EQ(sample.Get(HostSignal::kRdmaReceived), 4 * 257);
  EXPECT_EQ(sample.Get(HostSignal::kRdmaSent), 4);
}

TEST_F(InfinibandTest, APortThatIsResetOrLostMakesNoJump) {
  Put(kFirst, 1000, 1000);
  Put(kSecond, 1'000'000, 1'000'000);
  InfinibandPorts ports = Ports();
  Read(ports);
  root_.Remove(kSecond);
  Put(kFirst, 5, 1001);
  EXPECT_EQ(Read(ports).Get(HostSignal::kRdmaReceived), 0);
  Put(kFirst, 25, 1003);
  const HostSample sample = Read(ports);
  EXPECT_EQ(sample.Get(HostSignal::kRdmaReceived), 80);
  EXPECT_EQ(sample.Get(HostSignal::kRdmaSent), 12);
}

TEST_F(InfinibandTest, WithoutADeviceThereIsNothingToKnow) {
  InfinibandPorts ports = Ports();
  const HostSample sample = Read(ports);
  EXPECT_EQ(sample.present, 0U);
  EXPECT_EQ(sample.unavailable, 0U);
}

TEST_F(InfinibandTest, AFullCounterOf32BitsAndAMissingOneAreUnavailable) {
  Put(kFirst, 0xFFFFFFFF, 7);
  InfinibandPorts ports = Ports();
  const HostSample full = Read(ports);
  EXPECT_TRUE(full.Lacks(HostSignal::kRdmaReceived));
  EXPECT_TRUE(full.Has(HostSignal::kRdmaSent));
  root_.Remove(std::string(kFirst) + "port_xmit_data");
  root_.Write(std::string(kSecond) + "other", "1");
  InfinibandPorts none = Ports();
  EXPECT_TRUE(Read(none).Lacks(HostSignal::kRdmaSent));
}

TEST_F(InfinibandTest, TellsEachPortInTheOrderOfItsNumber) {
  for (const char* port : {"mlx5_10/ports/1", "mlx5_2/ports/2", "mlx5_2/ports/1"}) {
    Put("/sys/class/infiniband/" + std::string(port) + "/counters/", 1000, 1000);
  }
  Put("/sys/class/infiniband/mlx5_11/ports/1/counters/", 0xFFFFFFFF, 1000);
  InfinibandPorts ports = Ports();
  Read(ports);
  Put("/sys/class/infiniband/mlx5_2/ports/2/counters/", 1250, 1001);
  root_.Remove("/sys/class/infiniband/mlx5_10/ports/1/counters/port_xmit_data");
  for (int reading = 0; reading < 2; ++reading) {
    Read(ports);
    ASSERT_EQ(ports.ports().size(), 4U);
    const std::array<const char*, 4> names = {"mlx5_2/1", "mlx5_2/2", "mlx5_10/1", "mlx5_11/1"};
    for (std::size_t i = 0; i < names.size(); ++i) EXPECT_EQ(ports.ports()[i].port, names[i]);
    // Only what passed since the reading before.
    EXPECT_EQ(ports.ports()[0].received, 0);
    EXPECT_EQ(ports.ports()[1].received, reading == 0 ? 1000 : 0);
    EXPECT_EQ(ports.ports()[1].sent, reading == 0 ? 4 : 0);
    EXPECT_FALSE(ports.ports()[2].sent.has_value());
    EXPECT_EQ(ports.ports()[2].received, 0);
    EXPECT_FALSE(ports.ports()[3].received.has_value());
  }
}

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

// CPU time of another process, by its clock.
std::int64_t CpuNanosOf(pid_t pid) {
  clockid_t clock{};
  timespec used{};
  if (clock_getcpuclockid(pid, &clock) != 0 || clock_gettime(clock, &used) != 0) return -1;
  return used.tv_sec * kNanosPerSecond + used.tv_nsec;
}

// How often this thread has read from a file, as the kernel counts; absent where it does not. What a tick costs is held
// by such counts, which are the same on every machine, busy or not.
std::optional<std::int64_t> ReadsOfThisThread() {
  const std::string text = FileText("/proc/thread-self/io");
  const std::size_t at = text.find("syscr: ");
  return at == std::string::npos ? std::nullopt : std::optional<std::int64_t>(std::stoll(text.substr(at + 7)));
}

std::ptrdiff_t OpenFiles() {
  return std::distance(std::filesystem::directory_iterator("/proc/self/fd"), std::filesystem::directory_iterator());
}

// Says one byte to whoever waits for it.
class Signpost {
 public:
  Signpost() { EXPECT_EQ(pipe(ends_), 0); }
  ~Signpost() {
    close(ends_[0]);
    close(ends_[1]);
  }
  Signpost(const Signpost&) = delete;
  Signpost& operator=(const Signpost&) = delete;
  void Reached() const { static_cast<void>(!write(ends_[1], "x", 1)); }
  void Await() const {
    char byte = 0;
    EXPECT_EQ(read(ends_[0], &byte, 1), 1);
  }

 private:
  int ends_[2] = {-1, -1};
};

// Forks so many children that only wait. They end with their parent, even if it died before they could ask for that.
void ForkWaiting(int count) {
  const pid_t parent = getpid();
  for (int i = 0; i < count; ++i) {
    if (fork() != 0) continue;
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != parent) _exit(0);
    while (true) pause();
  }
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
  const Signpost parent_done;
  const Signpost child_done;
  int told[2];
  ASSERT_EQ(pipe(told), 0);
  RealProcess workload([&] {
    const pid_t child = fork();
    if (child == 0) {
      prctl(PR_SET_PDEATHSIG, SIGKILL);
      setsid();
      Burn(200);
      const std::string block(1 << 20, 'x');
      static_cast<void>(write(written, block.data(), block.size()));
      child_done.Reached();
      while (true) pause();
    }
    static_cast<void>(!write(told[1], &child, sizeof child));
    Burn(100);
    parent_done.Reached();
  });
  pid_t child = 0;
  ASSERT_EQ(read(told[0], &child, sizeof child), static_cast<ssize_t>(sizeof child));
  HostLane lane(Watching(workload.pid()));
  LiveLog log;
  lane.Tick(At(0), log);
  parent_done.Await();
  child_done.Await();
  for (int i = 1; i < 12; ++i) lane.Tick(At(i * 100), log);
  lane.Finish(At(1200), log);  // which looks at everything once more
  // Both wait by now. The kernel tells the user's time and its own in whole ticks of 10 ms, of each process.
  const std::int64_t truth = CpuNanosOf(workload.pid()) + CpuNanosOf(child);
  EXPECT_GE(truth, 300'000'000);
  EXPECT_NEAR(static_cast<double>(log.Last(HostScope::kWorkload, HostSignal::kCpuTime).value_or(0)),
              static_cast<double>(truth), 4 * 10'000'000);
  EXPECT_EQ(log.Last(HostScope::kWorkload, HostSignal::kProcesses), 2);
  EXPECT_GE(log.Last(HostScope::kWorkload, HostSignal::kWriteChars), 1 << 20);
  EXPECT_TRUE(log.Last(HostScope::kWorkload, HostSignal::kCpuWait).has_value());
  EXPECT_GT(log.Last(HostScope::kWorkload, HostSignal::kMemoryUsed), 0);
  EXPECT_TRUE(log.notes.empty() || log.notes.front().text.find("pressure") != std::string::npos);
  for (const int end : {told[0], told[1], written}) close(end);
  unlink(file);
}

// Two busy processes on one CPU: each is ready and waits, as long as the kernel says of its only thread.
TEST(HostLane, WaitingForACpuIsSeen) {
  cpu_set_t allowed;
  sched_getaffinity(0, sizeof allowed, &allowed);
  cpu_set_t one;
  CPU_ZERO(&one);
  for (std::size_t i = 0; i < CPU_SETSIZE && CPU_COUNT(&one) == 0; ++i) {
    if (CPU_ISSET(i, &allowed)) CPU_SET(i, &one);
  }
  const Signpost bound;
  const auto busy = [&] {
    sched_setaffinity(0, sizeof one, &one);
    bound.Reached();
    Burn(1'000'000);
  };
  RealProcess first(busy);
  RealProcess second(busy);
  bound.Await();
  bound.Await();
  const auto waited = [&] {
    const std::string text = FileText("/proc/" + std::to_string(first.pid()) + "/schedstat");
    return ParseRunQueueWait(text).value_or(0);
  };
  HostLane lane(Watching(first.pid()));
  LiveLog log;
  for (std::int64_t second_no = 0; second_no < 2; ++second_no) {
    const std::int64_t before = waited();
    lane.Tick(At(second_no * 1000), log);
    const std::int64_t seen = log.Last(HostScope::kWorkload, HostSignal::kCpuWait).value_or(-1);
    EXPECT_GE(seen, before);
    EXPECT_LE(seen, waited());
    while (waited() < before + 100'000'000) std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
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

TEST(HostLane, ARunShorterThanASecondIsReadAtItsEndToo) {
  test::FakeRoot root;
  const auto busy = [&](const char* ticks) {
    root.Write("/proc/stat", "cpu  " + std::string(ticks) + " 0 0 0 0 0 0 0 0 0\ncpu0 100 0 0 0 0 0 0 0 0 0\n");
  };
  HostLaneSpec spec;
  spec.root = root.path();
  busy("100");
  HostLane lane(spec);
  LiveLog log;
  lane.Tick(At(0), log);
  busy("250");
  lane.Tick(At(300), log);
  EXPECT_EQ(log.Last(HostScope::kMachine, HostSignal::kCpuTime), kNanosPerSecond);
  lane.Finish(At(700), log);
  EXPECT_EQ(log.Last(HostScope::kMachine, HostSignal::kCpuTime), 5 * kNanosPerSecond / 2);
  EXPECT_EQ(log.host.back().time, At(700));
}

TEST(HostLane, PushesThePortsOnceASecond) {
  test::FakeRoot root;
  root.Write(kFirst + std::string("port_rcv_data"), "1000");
  root.Write(kFirst + std::string("port_xmit_data"), "1000");
  HostLaneSpec spec;
  spec.root = root.path();
  HostLane lane(spec);
  LiveLog log;
  SinkGate gate(log);  // as a sampler has it
  lane.Tick(At(0), gate);
  root.Write(kFirst + std::string("port_rcv_data"), "1001");
  lane.Tick(At(100), gate);
  ASSERT_EQ(log.ports.size(), 1U);
  EXPECT_EQ(log.ports[0].received, 0);
  lane.Tick(At(1000), gate);
  EXPECT_EQ(log.ports[0].port, "mlx5_0/1");
  EXPECT_EQ(log.ports[0].received, 4);
  EXPECT_EQ(log.Last(HostScope::kMachine, HostSignal::kRdmaReceived), 4);
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

// The machine's files and the control group's: of every tick, and of one a second.
constexpr std::int64_t kReadsOfATick = 16;
constexpr std::int64_t kReadsOfASecond = 64;

// A thousand real processes at once: no tick reads more than its share, and within a second all are known.
TEST(HostLane, AThousandProcessesDoNotStallIt) {
  if (!ReadsOfThisThread()) GTEST_SKIP() << "needs /proc/thread-self/io";
  const Signpost ready;
  RealProcess workload([&] {
    ForkWaiting(1000);
    ready.Reached();
  });
  ready.Await();
  HostLane lane(Watching(workload.pid()));
  LiveLog log;
  const auto known = [&] { return log.Last(HostScope::kWorkload, HostSignal::kProcesses).value_or(0); };
  constexpr std::int64_t kJudged = ProcessTree::kMostJudged;
  constexpr std::int64_t kVisited = ProcessTree::kMostVisited;
  constexpr std::int64_t kThreads = ProcessTree::kMostThreads;
  for (int i = 0; i < 45; ++i) {
    const std::int64_t known_before = known();
    const std::int64_t before = *ReadsOfThisThread();
    lane.Tick(At(i * 100), log);
    const std::int64_t reads = *ReadsOfThisThread() - before;
    const std::int64_t joined = known() - known_before;
    EXPECT_LE(joined, kJudged) << i;
    // To judge one, who it is; of one that joins or is visited, what it used and what it read and wrote; and once a
    // second of each thread how long it waited, and of its process the command line.
    const std::int64_t of_second = i % 10 == 0 ? 2 * kThreads + kReadsOfASecond : 0;
    EXPECT_LE(reads, kJudged + 2 * joined + 2 * kVisited + kReadsOfATick + of_second) << i;
    if (i == 9) {
      EXPECT_EQ(known(), 1001);
    }
  }
  // In turns everybody was asked how long it waited: nobody's share is left out for good.
  EXPECT_TRUE(log.Last(HostScope::kWorkload, HostSignal::kCpuWait).has_value());
}

// Without a workload, as an agent has it, the machine's processes are never listed.
TEST(HostLane, WithoutAWorkloadNoProcessIsRead) {
  test::FakeRoot root(test::FakeRoot::InMemory());
  test::OpenedFiles opened;
  for (int pid = 1000; pid < 11'000; ++pid) root.Write("/proc/" + std::to_string(pid) + "/stat", "");
  root.Write("/proc/stat", "cpu  100 0 0 0 0 0 0 0 0 0\ncpu0 100 0 0 0 0 0 0 0 0 0\n");
  bool watched = opened.Watch(root.path() + "/proc");
  for (int pid = 1000; pid < 11'000; ++pid)
    watched = watched && opened.Watch(root.path() + "/proc/" + std::to_string(pid));
  if (!watched) GTEST_SKIP() << "inotify has no watch left";
  HostLaneSpec spec;
  spec.root = root.path();
  HostLane lane(spec);
  LiveLog log;
  for (int tick = 0; tick < 50; ++tick) lane.Tick(At(tick * 100), log);
  EXPECT_TRUE(log.Last(HostScope::kMachine, HostSignal::kCpuTime).has_value());
  const std::vector<std::string> files = opened.Take();
  // Those that are not there are looked for at every tick; the rest stays open.
  for (const std::string& file : files) EXPECT_EQ(file, root.path() + "/proc/stat");
  EXPECT_EQ(files.size(), 1U);
}

// Sixteen processes at 10 Hz: a tick looks at each once, and what it looks at stays open.
TEST(HostLane, CostsLittle) {
  if (!ReadsOfThisThread()) GTEST_SKIP() << "needs /proc/thread-self/io";
  constexpr std::int64_t kProcesses = 16;
  const Signpost ready;
  RealProcess workload([&] {
    ForkWaiting(kProcesses - 1);
    ready.Reached();
  });
  ready.Await();
  const std::ptrdiff_t open_before = OpenFiles();
  HostLane lane(Watching(workload.pid()));
  LiveLog log;
  for (int i = 0; i < 50; ++i) lane.Tick(At(i * 100), log);  // its command lines are known then
  EXPECT_EQ(log.Last(HostScope::kWorkload, HostSignal::kProcesses), kProcesses);
  EXPECT_GE(OpenFiles() - open_before, 3 * kProcesses);  // what it used, read and wrote, and waited for
  const std::int64_t before = *ReadsOfThisThread();
  constexpr std::int64_t kSeconds = 20;
  for (int i = 50; i < 50 + 10 * kSeconds; ++i) lane.Tick(At(i * 100), log);
  const std::int64_t reads = (*ReadsOfThisThread() - before) / kSeconds;
  RecordProperty("reads_a_second", static_cast<int>(reads));
  // Each tick what each used; the root is nobody's child here, so that nobody would tell what it read and wrote.
  EXPECT_LE(reads, 10 * (kProcesses + 1 + kReadsOfATick) + 2 * kProcesses + kReadsOfASecond);
}

}  // namespace

}  // namespace idleburn
