#include "price/run_cost.h"

#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <algorithm>
#include <cmath>

#include "support/cost_fixture.h"
#include "support/property.h"

namespace idleburn {
namespace {

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
