// Who pays for which time.
#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <cmath>
#include <map>
#include <string>

#include "support/cost_fixture.h"
#include "support/property.h"

namespace idleburn {
namespace {

constexpr std::int64_t kHour = kNanosPerHour;

constexpr Instant At(std::int64_t ns) { return Instant::FromNanos(ns); }

TEST(OwnerCostTest, CopiesForTwoJobsAreSplitNotAdded) {
  CostScene scene("2.50");
  Observe(scene.Gpu(0), Phase::kProductive, kHour, 80);
  scene.owners.Add(0, {"job 48211", "job 48212"}, At(0), At(kHour));
  const CostReport report = scene.Report();
  EXPECT_EQ(FormatExact(*report.whole.total), "2.50");
  ASSERT_EQ(report.owners.size(), 2U);
  for (const CostReport::OwnerCost& owner : report.owners) {
    EXPECT_EQ(FormatExact(*owner.cost), "1.25");
    EXPECT_EQ(owner.gpu_ns, kHour / 2);
    EXPECT_TRUE(owner.estimated);
  }
}

TEST(OwnerCostTest, OwnersAndWhatNobodyOwnsSumToTheWhole) {
  CostScene scene("7");
  Observe(scene.Slice(0, "1", 1), Phase::kProductive, kHour, 80);
  Observe(scene.Gpu(1), Phase::kProductive, kHour, 80);
  EXPECT_TRUE(scene.Report().owners.empty());
  scene.owners.Add(scene.run.devices[0].device, {"pod ml/train-0"}, At(0), At(kHour));
  const CostReport report = scene.Report();
  ASSERT_EQ(report.owners.size(), 3U);
  EXPECT_EQ(report.owners[0].owner, "");
  EXPECT_EQ(FormatExact(*report.owners[0].cost), "7.00");
  EXPECT_EQ(report.owners[1].owner, "pod ml/train-0");
  EXPECT_EQ(FormatExact(*report.owners[1].cost), "1.00");
  EXPECT_FALSE(report.owners[1].estimated);
  EXPECT_EQ(report.owners[2].owner, "unallocated");
  EXPECT_EQ(FormatExact(*report.owners[2].cost), "6.00");
}

// Job A for an hour, for eight the exporter was down, then job B for an hour: eight hours are nobody's.
TEST(OwnerCostTest, TimeForWhichNobodyWasNamedIsBilledToNobody) {
  CostScene scene("2.50");
  DeviceResult& gpu = scene.Gpu(0);
  Observe(gpu, Phase::kProductive, 2 * kHour, 80);
  Miss(gpu, 8 * kHour);
  scene.owners.Add(gpu.device, {"job A"}, At(0), At(kHour));
  scene.owners.Add(gpu.device, {"job B"}, At(9 * kHour), At(10 * kHour));
  const CostReport report = scene.Report();
  ASSERT_EQ(report.owners.size(), 3U);
  EXPECT_EQ(report.owners[0].owner, "");
  EXPECT_EQ(report.owners[0].gpu_ns, 8 * kHour);
  EXPECT_EQ(FormatExact(*report.owners[0].cost), "20.00");
  for (const std::size_t job : {1U, 2U}) {
    EXPECT_EQ(report.owners[job].gpu_ns, kHour);
    EXPECT_EQ(FormatExact(*report.owners[job].cost), "2.50");
  }
}

// Half an hour of a slice of two sevenths that was there for one.
TEST(OwnerCostTest, AnOwnerOfASliceIsBilledForTheTimeInWhichItWasNamed) {
  CostScene scene("7");
  DeviceResult& slice = scene.Slice(0, "1", 2);
  Observe(slice, Phase::kProductive, kHour, 80);
  scene.owners.Add(slice.device, {"pod ml/train-0"}, At(0), At(kHour / 2));
  const CostReport report = scene.Report();
  ASSERT_EQ(report.owners.size(), 3U);
  EXPECT_EQ(FormatExact(*report.owners[0].cost), "1.00");
  EXPECT_EQ(report.owners[1].owner, "pod ml/train-0");
  EXPECT_EQ(FormatExact(*report.owners[1].cost), "1.00");
  EXPECT_EQ(FormatExact(*report.owners[2].cost), "5.00");
}

// Jobs one after another on a GPU, with gaps between: against their own hours, to the nanosecond.
TEST(OwnerCostTest, AnOwnerIsBilledForItsOwnTime) {
  test::ExpectProperty([] {
    CostScene scene("3600");
    DeviceResult& gpu = scene.Gpu(0);
    std::map<std::string, std::int64_t> seconds;
    std::int64_t now = 0;
    const int jobs = *rc::gen::inRange(1, 8);
    for (int i = 0; i < jobs; ++i) {
      const std::int64_t gap = *rc::gen::inRange<std::int64_t>(0, 5000);
      const std::int64_t held = *rc::gen::inRange<std::int64_t>(1, 5000);
      const std::string job = "job " + std::to_string(i % 3);
      Miss(gpu, gap * kNanosPerSecond);
      Observe(gpu, Phase::kProductive, held * kNanosPerSecond, 80);
      scene.owners.Add(gpu.device, {job}, At((now + gap) * kNanosPerSecond), At((now + gap + held) * kNanosPerSecond));
      seconds[job] += held;
      if (gap > 0) seconds[""] += gap;
      now += gap + held;
    }
    const CostReport report = scene.Report();
    RC_ASSERT(report.owners.size() == seconds.size());
    for (const CostReport::OwnerCost& owner : report.owners) {
      // Shares are fractions of twelve digits.
      const double off =
          static_cast<double>(owner.gpu_ns) / kNanosPerSecond - static_cast<double>(seconds[owner.owner]);
      RC_ASSERT(std::abs(off) < (owner.owner.empty() ? 1e-12 : 1e-6));
    }
  });
}

}  // namespace
}  // namespace idleburn
