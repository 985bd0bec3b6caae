#include "trial/cpu_cores.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>

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

}  // namespace
}  // namespace idleburn
