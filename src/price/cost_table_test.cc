#include "price/cost_table.h"

#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <algorithm>
#include <cstdlib>
#include <functional>
#include <iterator>
#include <numeric>

#include "base/money.h"
#include "support/property.h"

namespace idleburn {
namespace {

using Table = std::vector<CostLines>;

DeviceTime TimeOf(const CostLines& ns) {
  DeviceTime device;
  device.time.line_ns = ns;
  return device;
}

CostLines Sums(const Table& table) {
  CostLines sums{};
  for (const CostLines& row : table) std::transform(row.begin(), row.end(), sums.begin(), sums.begin(), std::plus<>());
  return sums;
}

std::int64_t Sum(const CostLines& row) { return std::accumulate(row.begin(), row.end(), std::int64_t{0}); }

// By the definition of the largest remainder: one part after the other takes a unit of what rounding down left.
std::vector<std::int64_t> Parts(std::int64_t total, const std::vector<std::int64_t>& weights) {
  const Int128 all = std::accumulate(weights.begin(), weights.end(), Int128{0});
  std::vector<std::int64_t> parts(weights.size(), 0);
  if (all == 0) return parts;
  std::vector<Int128> left;
  for (std::size_t i = 0; i < parts.size(); ++i) {
    parts[i] = static_cast<std::int64_t>(static_cast<Int128>(total) * weights[i] / all);
    left.push_back(static_cast<Int128>(total) * weights[i] % all);
  }
  while (std::accumulate(parts.begin(), parts.end(), std::int64_t{0}) < total) {
    const auto next = std::max_element(left.begin(), left.end());
    ++parts[static_cast<std::size_t>(next - left.begin())];
    *next = -1;
  }
  return parts;
}

Table Split(std::int64_t total, const Table& times) {
  const CostLines ns = Sums(times);
  const std::vector<std::int64_t> parts = Parts(total, {ns.begin(), ns.end()});
  CostLines lines{};
  std::copy(parts.begin(), parts.end(), lines.begin());
  std::vector<DeviceTime> devices;
  std::transform(times.begin(), times.end(), std::back_inserter(devices), TimeOf);
  const Table table = SplitOverDevices(lines, devices).value();
  EXPECT_EQ(Sums(table), lines);
  return table;
}

// Seven GPUs for 1000 s at $3.99, each at another mix of two phases: $1.108333333 each and a third, so that of the
// total of 7.758333333 the first two have a billionth more.
TEST(CostTableTest, DevicesOfOneTimeCostTheSameToABillionth) {
  Table times;
  for (std::int64_t i = 0; i < 7; ++i) times.push_back({0, 0, 0, 130 * i + 1, 999 - 130 * i, 0, 0, 0});
  const Table table = Split(7'758'333'333, times);
  for (std::size_t i = 0; i < table.size(); ++i) {
    EXPECT_EQ(Sum(table[i]), i < 2 ? 1'108'333'334 : 1'108'333'333) << i;
  }
}

// A quarter of an hour at $8 is $2 exactly, whatever the other GPUs cost and however its own time parts.
TEST(CostTableTest, AWholeAmountStaysWhole) {
  const Table table = Split(8, {{1, 1, 1, 1, 0, 0, 0, 0}, {3, 0, 1, 0, 0, 0, 0, 0}, {0, 1, 0, 2, 0, 1, 0, 4}});
  EXPECT_EQ(Sum(table[0]), 2);
  EXPECT_EQ(Sum(table[1]), 2);
  EXPECT_EQ(Sum(table[2]), 4);
}

// Three billionths of two devices alike: both sums round the earlier up, which is the one's line and the other device.
// What took no time costs nothing, and so the device gives way.
TEST(CostTableTest, WhatTookNoTimeCostsNothing) {
  EXPECT_EQ(Split(3, {{0, 1}, {1, 0}}), (Table{{0, 1}, {2, 0}}));
  // With a line in common both sums hold: of 9 billionths the parts are 1.5, 3 and 1.5, 3.
  EXPECT_EQ(Split(9, {{0, 1, 2}, {1, 0, 2}}), (Table{{0, 1, 4}, {2, 0, 2}}));
}

TEST(CostTableTest, OfNoTimeThereIsNoCost) { EXPECT_EQ(Split(0, {{}, {}}), (Table{{}, {}})); }

Table AnyTimes() {
  const auto most = *rc::gen::element<std::int64_t>(3, 1000, 5'000'000'000'000);
  Table times(*rc::gen::inRange<std::size_t>(1, 12));
  for (CostLines& row : times) {
    for (std::int64_t& ns : row) ns = std::max<std::int64_t>(0, *rc::gen::inRange<std::int64_t>(-most, most));
  }
  return times;
}

// A line that all devices have time on joins them, so that every sum can hold; without it the lines' sums do (Split
// checks them).
TEST(CostTablePropertyTest, EverySumIsItsLargestRemainder) {
  test::ExpectProperty([] {
    Table times = AnyTimes();
    const bool joined = *rc::gen::arbitrary<bool>();
    for (CostLines& row : times) row[3] += joined ? 1'000'000 : 0;
    const Int128 all = Sum(Sums(times));
    const std::int64_t total = all == 0 ? 0 : *rc::gen::inRange<std::int64_t>(0, 9'000'000'000'000'000'000);
    const Table table = Split(total, times);
    std::vector<std::int64_t> windows;
    for (const CostLines& row : times) windows.push_back(Sum(row));
    const std::vector<std::int64_t> totals = Parts(total, windows);
    for (std::size_t d = 0; d < times.size(); ++d) {
      if (joined) RC_ASSERT(Sum(table[d]) == totals[d]);
      for (std::size_t l = 0; l < kLineCount && all > 0; ++l) {
        const auto floor = static_cast<std::int64_t>(static_cast<Int128>(total) * times[d][l] / all);
        RC_ASSERT(std::abs(table[d][l] - floor) <= static_cast<std::int64_t>(kLineCount));
        RC_ASSERT(times[d][l] > 0 || table[d][l] == 0);
      }
    }
  });
}

TEST(CostTablePropertyTest, NoBillionthIsLostOfFewOnes) {
  test::ExpectProperty([] {
    const Table times = AnyTimes();
    const std::int64_t total = Sum(Sums(times)) == 0 ? 0 : *rc::gen::inRange<std::int64_t>(0, 40);
    const Table table = Split(total, times);
    for (std::size_t d = 0; d < times.size(); ++d) {
      for (std::size_t l = 0; l < kLineCount; ++l) RC_ASSERT(table[d][l] >= 0 && (times[d][l] > 0 || table[d][l] == 0));
    }
  });
}

}  // namespace
}  // namespace idleburn
