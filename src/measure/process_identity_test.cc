#include "measure/process_identity.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include "support/fake_proc.h"

namespace idleburn {
namespace {

using test::FakeProcesses;
using test::FakeRoot;
using Words = std::vector<std::string>;
using namespace std::string_literals;

class ProcessIdentityTest : public ::testing::Test {
 protected:
  void SetUp() override {
    processes_[77].name = "a) b (c";
    processes_[77].start = 4711;
    processes_.Publish();
    root_.Write("/proc/77/status", "Name:\ta) b (c\nState:\tS (sleeping)\nUid:\t1000\t0\t0\t0\nGid:\t5\t5\t5\t5\n");
    root_.Write("/proc/77/cmdline", "python\0train.py\0--name=a b\0\0\0"s);
  }
  FakeRoot root_;
  FakeProcesses processes_{root_};
  const std::string proc_ = root_.path() + "/proc";
};

TEST_F(ProcessIdentityTest, SaysWhoStartedWhat) {
  EXPECT_EQ(StartTicksOf(proc_, 77), 4711);
  const auto who = IdentityOf(proc_, 77, 4711);
  ASSERT_TRUE(who);
  EXPECT_EQ(who->name, "a) b (c");
  EXPECT_EQ(who->user, 1000U);  // who pays, not whose rights a program has
  EXPECT_EQ(who->command, (Words{"python", "train.py", "--name=a b"}));
}

TEST_F(ProcessIdentityTest, APidGivenAnewIsSomebodyElse) {
  EXPECT_FALSE(IdentityOf(proc_, 77, 4710));
  EXPECT_FALSE(IdentityOf(proc_, 78, 4711));
  EXPECT_FALSE(StartTicksOf(proc_, 78));
  EXPECT_FALSE(StartTicksOf(proc_, 0));
  EXPECT_FALSE(StartTicksOf(proc_, -1));
}

TEST_F(ProcessIdentityTest, WhatMayNotBeReadIsAbsentAndTheRestIsThere) {
  root_.Remove("/proc/77/cmdline");
  root_.Remove("/proc/77/status");
  const auto who = IdentityOf(proc_, 77, 4711);
  ASSERT_TRUE(who);
  EXPECT_EQ(who->name, "a) b (c");
  EXPECT_FALSE(who->user);
  EXPECT_TRUE(who->command.empty());
}

TEST_F(ProcessIdentityTest, ThisProcessKnowsItself) {
  const auto start = StartTicksOf("/proc", getpid());
  ASSERT_TRUE(start);
  const auto who = IdentityOf("/proc", getpid(), *start);
  ASSERT_TRUE(who);
  EXPECT_EQ(who->user, getuid());
  EXPECT_NE(who->command.at(0).find("unit_tests"), std::string::npos);
}

}  // namespace
}  // namespace idleburn
