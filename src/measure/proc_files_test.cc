#include "measure/proc_files.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include "support/fake_proc.h"

namespace idleburn {

namespace {

// Field numbers are those of proc_pid_stat(5); the values here are their numbers.
TEST(ProcText, StatIsReadFromTheLastParenthesis) {
  const auto stat = ParseProcessStat(
      "77 (a) b (c)) D 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20 21 22 23 24 18446744073709551615 26\n");
  ASSERT_TRUE(stat);
  EXPECT_EQ(stat->state, 'D');
  EXPECT_EQ(stat->parent, 4);
  EXPECT_EQ(stat->session, 6);
  EXPECT_EQ(stat->waited_faults, 11 + 13);
  EXPECT_EQ(stat->major_faults, 12);
  EXPECT_EQ(stat->waited_major_faults, 13);
  EXPECT_EQ(stat->cpu_ticks, 14 + 15);
  EXPECT_EQ(stat->waited_cpu_ticks, 16 + 17);
  EXPECT_EQ(stat->threads, 20);
  EXPECT_EQ(stat->start_ticks, 22);
  EXPECT_EQ(stat->resident_pages, 24);
  EXPECT_FALSE(ParseProcessStat(""));
  EXPECT_FALSE(ParseProcessStat("77 (a) D 4 5 6 7"));
  EXPECT_FALSE(ParseProcessStat("77 (a D 4 5 6 7"));
}

TEST(ProcText, IoNeedsAllItsCounters) {
  const auto io = ParseProcessIo(
      "rchar: 10\nwchar: 20\nsyscr: 1\nsyscw: 2\nread_bytes: 30\nwrite_bytes: 40\ncancelled_write_bytes: 50\n");
  ASSERT_TRUE(io);
  EXPECT_EQ(io->read_chars, 10);
  EXPECT_EQ(io->write_chars, 20);
  EXPECT_EQ(io->read_bytes, 30);
  EXPECT_EQ(io->write_bytes, 40);
  EXPECT_FALSE(ParseProcessIo("rchar: 10\nwchar: 20\n"));
}

TEST(ProcText, PressureIsInNanoseconds) {
  const std::string_view text =
      "some avg10=0.00 avg60=1.50 avg300=0.10 total=1234567\nfull avg10=0.00 avg60=0.00 avg300=0.00 total=89\n";
  EXPECT_EQ(ParsePressure(text, "some"), 1'234'567'000);
  EXPECT_EQ(ParsePressure(text, "full"), 89'000);
  EXPECT_FALSE(ParsePressure("", "some"));
  EXPECT_FALSE(ParsePressure("some total=x\n", "some"));
}

TEST(ProcText, IdleAndWaitingForDisksIsNoCpuTime) {
  const auto cpu = ParseMachineCpu(
      "cpu  100 20 30 4000 500 6 7 80 9 0\ncpu0 1 2 3 4 5 6 7 8 9 0\ncpu3 1 2 3 4 5 6 7 8 9 0\nintr 5\n");
  ASSERT_TRUE(cpu);
  EXPECT_EQ(cpu->busy_ticks, 100 + 20 + 30 + 6 + 7);
  EXPECT_EQ(cpu->cpus, 2);
  EXPECT_FALSE(ParseMachineCpu("cpu 1 2 3\n"));
}

TEST(ProcText, DiskBytesCountOnce) {
  const ByteCounts bytes = ParseDiskstats(
      "   7       0 loop0 1 0 999 0 1 0 999 0 0 0 0\n"
      " 259       0 nvme0n1 10 0 100 5 20 0 200 5 0 9 9\n"
      " 259       1 nvme0n1p1 10 0 100 5 20 0 200 5 0 9 9\n"
      "   8       0 sda 1 0 3 0 1 0 4 0 0 0 0\n"
      "   8       1 sda1 1 0 3 0 1 0 4 0 0 0 0\n"
      "   8      16 sdaa 1 0 10 0 1 0 20 0 0 0 0\n"
      " 253       0 dm-0 10 0 100 5 20 0 200 5 0 9 9\n"
      "   9       0 md127 10 0 100 5 20 0 200 5 0 9 9\n");
  EXPECT_EQ(bytes.in, 113 * 512);
  EXPECT_EQ(bytes.out, 224 * 512);
}

TEST(ProcText, NetworkBytesCountOnce) {
  const ByteCounts bytes = ParseNetDev(
      "Inter-|   Receive                                                |  Transmit\n"
      " face |bytes    packets errs drop fifo frame compressed multicast|bytes    packets errs drop\n"
      "    lo: 500 1 0 0 0 0 0 0 500 1 0 0 0 0 0 0\n"
      "  eth0:1000 1 0 0 0 0 0 0 2000 1 0 0 0 0 0 0\n"
      "   ib0: 10 1 0 0 0 0 0 0 20 1 0 0 0 0 0 0\n"
      "veth12: 7 1 0 0 0 0 0 0 7 1 0 0 0 0 0 0\n"
      "docker0: 7 1 0 0 0 0 0 0 7 1 0 0 0 0 0 0\n");
  EXPECT_EQ(bytes.in, 1010);
  EXPECT_EQ(bytes.out, 2020);
}

TEST(ProcText, GroupBytesOfBothVersions) {
  const ByteCounts v2 = ParseIoStat("8:0 rbytes=100 wbytes=20 rios=1 wios=1 dbytes=0 dios=0\n8:16 rbytes=1 wbytes=2\n");
  EXPECT_EQ(v2.in, 101);
  EXPECT_EQ(v2.out, 22);
  const ByteCounts v1 = ParseBlkioBytes("8:0 Read 100\n8:0 Write 20\n8:0 Sync 5\n8:0 Total 120\nTotal 120\n");
  EXPECT_EQ(v1.in, 100);
  EXPECT_EQ(v1.out, 20);
}

TEST(ProcText, HandledSignalsAreTheBitsOfTheMask) {
  const std::string status = "Name:\tpython\nSigIgn:\t0000000001001000\nSigCgt:\t0000000000004200\nThreads:\t1\n";
  EXPECT_EQ(CatchesSignal(status, 10), true);  // bit 9
  EXPECT_EQ(CatchesSignal(status, 15), true);
  EXPECT_EQ(CatchesSignal(status, 12), false);
  EXPECT_EQ(CatchesSignal(status, 13), false);  // ignored only
  EXPECT_EQ(CatchesSignal(status, 65), std::nullopt);
  EXPECT_EQ(CatchesSignal("Name:\tx\n", 10), std::nullopt);
  EXPECT_EQ(CatchesSignal("SigCgt:\t00zz\n", 10), std::nullopt);
}

TEST(ProcText, ListsAreCounted) {
  EXPECT_EQ(CountOfList("0-3,8"), 5);
  EXPECT_EQ(CountOfList("0"), 1);
  EXPECT_EQ(CountOfList("0-127,256-383"), 256);
  EXPECT_FALSE(CountOfList(""));
  EXPECT_FALSE(CountOfList("3-1"));
  EXPECT_FALSE(CountOfList("a"));
}

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
