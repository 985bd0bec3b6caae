#include "trial/control_group.h"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <ctime>
#include <filesystem>
#include <fstream>

#include "os/kept_file.h"
#include "support/fake_proc.h"

namespace idleburn {
namespace {

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
  EXPECT_NE(made.error().message.find("cpu is switched on for no group"), std::string::npos) << made.error().message;
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
  EXPECT_NE(made.error().message.find("holds other processes"), std::string::npos) << made.error().message;
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
