#include "price/cost_split.h"

#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <functional>
#include <iterator>
#include <numeric>

#include "base/money.h"
#include "support/cost_fixture.h"
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

// A device that was in some of the runs, for odd times; its totals are their sum.
void InRuns(DeviceResult& device, const std::vector<RunSpan>& runs) {
  for (std::size_t i = 0; i < runs.size(); ++i) {
    if (i > 0 && *rc::gen::inRange(0, 3) == 0) continue;
    DeviceResult::InRun in{i, runs[i].start, runs[i].end, {}};
    std::int64_t left = (runs[i].end - runs[i].start).count();
    for (std::int64_t& ns : in.time.phase_ns) {
      ns = *rc::gen::inRange<std::int64_t>(0, left + 1);
      left -= ns;
    }
    in.time.unobserved_ns[0] = left;
    const std::int64_t observed = (in.last - in.first).count() - left;
    in.time.utilization = {observed, static_cast<Int128>(observed) * 40 * kPercent};
    for (std::size_t p = 0; p < kPhaseCount; ++p) device.totals.phase_ns[p] += in.time.phase_ns[p];
    device.totals.idle_unknown_ns += in.time.phase_ns[0];
    device.totals.unobserved_ns[0] += left;
    device.totals.utilization.Merge(in.time.utilization);
    device.runs.push_back(in);
  }
  device.first = device.runs.front().first;
  device.last = device.runs.back().last;
}

std::vector<RunSpan> AnyRuns() {
  std::vector<RunSpan> runs;
  std::int64_t at = 1'000'000'007;
  const auto count = *rc::gen::inRange(1, 6);
  for (int i = 0; i < count; ++i) {
    const std::int64_t end = at + *rc::gen::inRange<std::int64_t>(1, 9 * kNanosPerHour);
    runs.push_back({Instant::FromNanos(at), Instant::FromNanos(end)});
    at = end + 2 * kNanosPerHour;
  }
  return runs;
}

void ExpectSums(const CostReport& report) {
  CostReport::RunUsage whole;
  for (const CostReport::RunCost& run : report.runs) whole.Merge(run.usage);
  RC_ASSERT(whole.WindowNs() == report.whole.window_ns);
  RC_ASSERT(whole.ObservedNs() == report.whole.observed_ns);
  RC_ASSERT(whole.ns[kPhaseCount] == report.whole.unobserved_ns);
  RC_ASSERT(whole.ns[kPhaseCount + 1] == report.whole.unallocated_ns);
  RC_ASSERT(whole.Total() == report.whole.total);
  for (std::size_t p = 0; p < kPhaseCount; ++p) {
    RC_ASSERT(whole.ns[p] == report.whole.phase_ns[p]);
    RC_ASSERT(whole.cost[p] == report.whole.phase_cost[p]);
  }
  for (const CostReport::DeviceCost& device : report.devices) {
    CostReport::RunUsage sum;
    for (const CostReport::DeviceCost::InRun& in : device.runs) sum.Merge(in.usage);
    RC_ASSERT(sum.WindowNs() == device.usage.window_ns);
    RC_ASSERT(sum.Total() == device.usage.total);
  }
}

TEST(RunCostTest, RunsSumToTheWholeAndEachIsItsOwnTime) {
  test::ExpectProperty([] {
    CostScene scene("2.953333333");
    scene.run.runs = AnyRuns();
    const auto gpus = *rc::gen::inRange(1, 4);
    for (int gpu = 0; gpu < gpus; ++gpu) InRuns(scene.Gpu(gpu), scene.run.runs);
    const CostReport report = scene.Report();
    RC_ASSERT(report.runs.size() == scene.run.runs.size());
    ExpectSums(report);
    for (std::size_t i = 0; i < report.runs.size(); ++i) {
      std::int64_t window = 0;
      int there = 0;
      for (const DeviceResult& device : scene.run.devices) {
        for (const DeviceResult::InRun& in : device.runs) {
          if (in.run != i) continue;
          window += (in.last - in.first).count();
          ++there;
        }
      }
      RC_ASSERT(report.runs[i].usage.WindowNs() == window);
      RC_ASSERT(report.runs[i].gpus == there);
      if (report.runs[i].mean_utilization) RC_ASSERT(std::abs(*report.runs[i].mean_utilization - 40) < 1e-9);
    }
  });
}

// Instances share a board: time between runs is none of its slices' either.
TEST(RunCostTest, InstancesOfABoardSumToTheirRuns) {
  test::ExpectProperty([] {
    CostScene scene("3.7");
    scene.run.runs = AnyRuns();
    const auto count = *rc::gen::inRange(1, 4);
    for (int i = 0; i < count; ++i) InRuns(scene.Slice(0, std::to_string(i), 2), scene.run.runs);
    std::int64_t first = INT64_MAX;
    std::int64_t last = 0;
    for (const DeviceResult& device : scene.run.devices) {
      first = std::min(first, device.first.nanos());
      last = std::max(last, device.last.nanos());
    }
    scene.run.start = scene.run.runs.front().start;
    scene.run.end = scene.run.runs.back().end;
    const CostReport report = scene.Report();
    ExpectSums(report);
    RC_ASSERT(report.whole.window_ns == scene.run.RecordedNs(Instant::FromNanos(first), Instant::FromNanos(last)));
  });
}

// A report that was put together without runs, as of a trace, has none.
TEST(RunCostTest, WithoutRunsThereAreNone) {
  CostScene scene("2");
  Observe(scene.Gpu(0), Phase::kComputeBound, kNanosPerHour, 99);
  const CostReport report = scene.Report();
  EXPECT_TRUE(report.runs.empty());
  EXPECT_EQ(report.whole.total, Money::Parse("2").value());
}

}  // namespace

}  // namespace idleburn
