#include "trial/confinement.h"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <ctime>
#include <filesystem>
#include <fstream>
#include <set>

#include "os/kept_file.h"
#include "support/fake_proc.h"

namespace idleburn {

namespace {

TEST(CpuCoresTest, HalvesWholeCoresOfEverySocket) {
  // Two sockets of four cores with two threads each, numbered as Linux does: first threads first.
  std::vector<CpuPlace> places;
  for (int cpu = 0; cpu < 16; ++cpu) places.push_back({cpu, cpu % 8 / 4, cpu % 4});
  const std::vector<int> half = HalfOfCpus(places, 16);
  EXPECT_EQ(half, (std::vector<int>{0, 2, 4, 6, 8, 10, 12, 14}));
  std::set<std::pair<int, int>> cores;
  std::set<int> packages;
  for (const int cpu : half) {
    cores.insert({places[static_cast<std::size_t>(cpu)].package, places[static_cast<std::size_t>(cpu)].core});
    packages.insert(places[static_cast<std::size_t>(cpu)].package);
  }
  EXPECT_EQ(cores.size(), 4U);  // both threads of each
  EXPECT_EQ(packages.size(), 2U);
}

TEST(CpuCoresTest, AnOddNumberIsRoundedDownAndOneStaysOne) {
  EXPECT_EQ(HalfOfCpus({{4, 0, 0}, {5, 0, 1}, {6, 0, 2}}, 3), (std::vector<int>{4}));
  EXPECT_EQ(HalfOfCpus({{4, 0, 0}}, 1), (std::vector<int>{4}));
  EXPECT_EQ(HalfOfCpus({{0, 0, 0}, {1, 0, 0}}, 2), (std::vector<int>{0}));  // two threads of one core
}

TEST(CpuCoresTest, AQuotaIsHalvedRatherThanCpusItLeavesUnused) {
  std::vector<CpuPlace> places;
  for (int cpu = 0; cpu < 64; ++cpu) places.push_back({cpu, 0, cpu});
  EXPECT_EQ(UsableCpus(places, 8), 8);
  EXPECT_EQ(UsableCpus(places, 100), 64);
  EXPECT_EQ(UsableCpus(places, std::nullopt), 64);
  EXPECT_EQ(HalfOfCpus(places, 8).size(), 4U);
  EXPECT_EQ(UsableCpus(places, 1.5), 1.5);
  EXPECT_EQ(HalfOfCpus(places, 1.5).size(), 1U);
}

TEST(CpuCoresTest, OnThisMachineSomeMayBeUsed) {
  const std::vector<CpuPlace> here = AllowedCpus("/sys");
  EXPECT_FALSE(here.empty());
  EXPECT_EQ(AllowedCpus("/proc/no/such/folder").size(), here.size());
}

CgroupPlace Version2(const std::string& folder) {
  CgroupPlace place;
  place.folder = "/cgroup" + folder;
  place.mount = "/cgroup";
  place.version2 = true;
  return place;
}

// Where no controller is switched on the file system is asked for nothing, and says how to get a group.
TEST(ControlGroupTest, WithoutADelegatedGroupItSaysWhatIsNeeded) {
  const test::FakeRoot root;
  root.Write("/cgroup/user/cgroup.subtree_control", "memory pids\n");
  root.Write("/cgroup/user/session/cgroup.subtree_control", "\n");
  root.Write("/cgroup/user/session/cgroup.controllers", "memory pids\n");
  const auto made = ControlGroup::Make(Version2("/user/session"), Controller::kCpu, {getpid()}, root.path());
  ASSERT_FALSE(made);
  EXPECT_NE(made.error().message.find("cpu is not enabled for any group"), std::string::npos) << made.error().message;
  EXPECT_NE(made.error().message.find("Delegate=yes"), std::string::npos);
}

TEST(ControlGroupTest, ADelegatedGroupThatOthersAreInIsLeftAlone) {
  const test::FakeRoot root;
  root.Write("/cgroup/user/cgroup.subtree_control", "memory\n");
  root.Write("/cgroup/user/session/cgroup.subtree_control", "\n");
  root.Write("/cgroup/user/session/cgroup.controllers", "cpu io memory\n");
  root.Write("/cgroup/user/session/cgroup.procs", std::to_string(getpid()) + "\n1\n");
  const auto made = ControlGroup::Make(Version2("/user/session"), Controller::kIo, {getpid()}, root.path());
  ASSERT_FALSE(made);
  EXPECT_NE(made.error().message.find("has other processes"), std::string::npos) << made.error().message;
  EXPECT_EQ(FileText(root.path() + "/cgroup/user/session/cgroup.subtree_control"), "");
}

// Files of a folder that is no control group cannot be written; what was begun is undone.
TEST(ControlGroupTest, AFailedAttemptLeavesNothingBehind) {
  const test::FakeRoot root;
  root.Write("/cgroup/own/cgroup.subtree_control", "\n");
  root.Write("/cgroup/own/cgroup.controllers", "cpu\n");
  root.Write("/cgroup/own/cgroup.procs", std::to_string(getpid()) + "\n");
  ASSERT_FALSE(ControlGroup::Make(Version2("/own"), Controller::kCpu, {getpid()}, root.path()));
  root.Write("/cgroup/own/cgroup.subtree_control", "cpu\n");
  ASSERT_FALSE(ControlGroup::Make(Version2("/own"), Controller::kCpu, {getpid()}, root.path()));
  for (const auto& entry : std::filesystem::directory_iterator(root.path() + "/cgroup/own")) {
    EXPECT_FALSE(entry.is_directory()) << entry.path();
  }
}

TEST(ControlGroupTest, NoControllersMountedIsAReason) {
  const auto made = ControlGroup::Make(CgroupPlace{}, Controller::kIo, {});
  ASSERT_FALSE(made);
  EXPECT_NE(made.error().message.find("io"), std::string::npos);
}

// On a machine whose control groups may be written: a process that burns CPU gets no more than its limit.
class RealControlGroupTest : public ::testing::Test {
 protected:
  void SetUp() override {
    std::string buffer;
    const auto text = [&buffer](const char* path) {
      KeptFile file(path, nullptr);
      return std::string(file.Read(buffer).value_or(std::string_view()));
    };
    place_ = FindCgroups(text("/proc/self/mountinfo"), text("/proc/self/cgroup")).cpu;
    auto made = ControlGroup::Make(place_, Controller::kCpu, {getpid()});
    if (!made) GTEST_SKIP() << made.error().message;
    group_ = std::move(*made);
  }
  CgroupPlace place_;
  std::unique_ptr<ControlGroup> group_;
};

TEST_F(RealControlGroupTest, LimitsWhoMovesInAndIsGoneAtTheEnd) {
  ASSERT_TRUE(group_->LimitCpu(0.05));
  const std::string folder = group_->folder();
  const pid_t child = fork();
  if (child == 0) {
    if (write(group_->procs(), "0", 1) != 1) _exit(9);
    timespec start{};
    clock_gettime(CLOCK_MONOTONIC, &start);
    timespec now = start;
    while (now.tv_sec - start.tv_sec < 2) clock_gettime(CLOCK_MONOTONIC, &now);
    timespec used{};
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &used);
    const auto nanos = [](const timespec& t) { return t.tv_sec * kNanosPerSecond + t.tv_nsec; };
    _exit(nanos(used) > (nanos(now) - nanos(start)) / 10 ? 1 : 0);  // twice of what it may
  }
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  ASSERT_TRUE(WIFEXITED(status));
  EXPECT_EQ(WEXITSTATUS(status), 0) << "9: could not move in; 1: used more CPU than the limit";
  EXPECT_TRUE(std::filesystem::exists(folder));
  group_.reset();
  EXPECT_FALSE(std::filesystem::exists(folder));
}

}  // namespace

}  // namespace idleburn
