#include "top/top_board.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <random>

#include "support/fake_proc.h"

namespace idleburn {

namespace {

using Holders = std::vector<GpuHolder>;
constexpr std::int64_t kGib = std::int64_t{1} << 30;

TEST(TopProcesses, AProcessIsOneOverAllItsGpus) {
  const Holders both = {{7, kGib, 100}};
  const Holders shared = {{7, std::nullopt, 100}, {9, 2 * kGib, 200}};
  const TopProcesses found = ProcessesOn({{0, &both, Money::Cents(200)}, {3, &shared, Money::Cents(300)}});
  ASSERT_EQ(found.list.size(), 2U);
  EXPECT_EQ(found.list[0].pid, 7);
  EXPECT_EQ(found.list[0].gpus, (std::vector<std::size_t>{0, 3}));
  EXPECT_EQ(found.list[0].memory, std::nullopt);  // not known of one of them
  EXPECT_EQ(found.list[0].per_hour, Money::Cents(200));
  EXPECT_TRUE(found.list[0].shares);
  EXPECT_EQ(found.list[1].memory, 2 * kGib);
  EXPECT_EQ(found.list[1].per_hour, Money());
  EXPECT_TRUE(found.list[1].shares);
  EXPECT_FALSE(found.foreign);
}

// What one process holds alone, what several share and what nobody holds are all there is, whoever holds what.
TEST(TopProcesses, PricesOfHoldersSharedAndFreeGpusAddUp) {
  std::mt19937 random(4);
  for (int round = 0; round < 200; ++round) {
    std::vector<Holders> holders(random() % 9);
    std::vector<HeldGpu> gpus;
    std::int64_t all = 0;
    std::int64_t not_one = 0;
    for (std::size_t g = 0; g < holders.size(); ++g) {
      for (std::int64_t pid = 1; pid <= 4; ++pid) {
        if (random() % 3 == 0) holders[g].push_back({pid, kGib, pid});
      }
      const auto price = static_cast<std::int64_t>(random() % 1'000'000);
      all += price;
      if (holders[g].size() != 1) not_one += price;
      gpus.push_back({g, &holders[g], Money::Nano(price)});
    }
    std::int64_t alone = 0;
    for (const TopProcess& process : ProcessesOn(gpus).list) alone += process.per_hour.nano();
    EXPECT_EQ(alone + not_one, all);
  }
}

// Of pids that another namespace numbers, some are seen here by chance.
TEST(TopProcesses, NobodyIsNamedWhereMostAreNotSeen) {
  const auto here = static_cast<std::int64_t>(getpid());
  const auto start = std::int64_t{4711};
  const test::FakeRoot root;
  test::FakeProcesses processes(root);
  processes[static_cast<int>(here)].start = start;
  processes.Publish();
  ProcessNames names(root.path() + "/proc");

  const Holders mixed = {{here, kGib, start}, {999'998, kGib, {}}, {999'999, kGib, {}}};
  TopProcesses found = ProcessesOn({{0, &mixed, Money()}});
  EXPECT_TRUE(found.foreign);
  names.Fill(found);
  for (const TopProcess& process : found.list) EXPECT_EQ(process.command, "unknown");

  const Holders half = {{here, kGib, start}, {999'999, kGib, {}}};
  found = ProcessesOn({{0, &half, Money()}});
  EXPECT_FALSE(found.foreign);
  names.Fill(found);
  EXPECT_EQ(found.list[0].command, "[python (worker) 1]");
  EXPECT_EQ(found.list[1].command, "unknown");
}

TEST(TopProcesses, OneThatEndedKeepsItsNameAndWhoHasItsPidDoesNotGetIt) {
  const test::FakeRoot root;
  test::FakeProcesses processes(root);
  processes[7].start = 100;
  processes.Publish();
  root.Write("/proc/7/cmdline", "train");
  root.Write("/proc/7/status", "Uid:\t4000000001\t0\t0\t0\n");
  ProcessNames names(root.path() + "/proc");
  const Holders before = {{7, kGib, 100}};
  TopProcesses found = ProcessesOn({{0, &before, Money()}});
  names.Fill(found);
  EXPECT_EQ(found.list[0].command, "train");
  EXPECT_EQ(found.list[0].user, "4000000001");  // a user without a name

  processes[7].start = 300;
  processes.Publish();
  root.Write("/proc/7/cmdline", "somebody\0else");
  found = ProcessesOn({{0, &before, Money()}});
  names.Fill(found);
  EXPECT_EQ(found.list[0].command, "train");
  const Holders after = {{7, kGib, 300}};
  found = ProcessesOn({{0, &after, Money()}});
  names.Fill(found);
  EXPECT_EQ(found.list[0].command, "somebody");
}

}  // namespace

}  // namespace idleburn
