// Candidates for smaller GPUs and slices, and the cases in which there must be none.
#include "fleet/right_sizing.h"

#include <gtest/gtest.h>

#include "fleet/gpu_use.h"

namespace idleburn {
namespace {

constexpr std::int64_t kHourMs = 3'600'000;
constexpr std::int64_t kGib = std::int64_t{1} << 30;
constexpr const char* kH100 = "NVIDIA H100 80GB HBM3";

// A GPU of the fleet for one hour at $4, all in one decile.
struct SizedCase {
  std::string model = kH100;
  std::optional<std::int64_t> peak = 20 * kGib;
  std::size_t decile = 2;
  bool instance = false;
  std::int64_t nvlink_kb = 0;
  bool priced = true;
  std::int64_t counted_ms = kHourMs;
};

FleetRightSizing Judge(const SizedCase& one) {
  GpuCountersRead read;
  GpuCounterSum& sum = read.gpus[{"n", "GPU-1"}];
  sum.rise[one.decile] = kHourMs;
  sum.rise[kIdlePlace + 1] = one.decile == 0 ? kHourMs : 0;
  sum.rise[kNvlinkPlace] = one.nvlink_kb;
  sum.memory_peak = one.peak;
  sum.memory_total = 80 * kGib;
  sum.instance = one.instance;
  FleetReport report;
  FleetTime hour;
  hour.phases = {0, one.counted_ms, 0, 0, 0};
  report.gpus = {{"GPU-1", "n", one.model, hour, {}}};
  if (one.priced) report.gpus[0].cost.total = Money::Cents(400);
  std::map<std::string, PackedNode> owners;
  owners["n"].teams = {"ml"};
  owners["n"].jobs = {"7", "8"};
  Catalogue catalogue;
  const auto put = [&](const char* gpu, const char* price) {
    CatalogueRow row;
    row.provider = "x";
    row.region = "r";
    row.instance = gpu;
    row.gpu = gpu;
    row.per_hour = Money::Parse(price).value();
    catalogue.Put(row);
  };
  put("L4-24GB", "0.50");
  put("L40S-48GB", "1.50");
  put("A100-80GB-SXM", "2.50");
  put("GH200", "2.00");  // cheaper, and not smaller
  return RightSizingOf(read, UseOf(read, report), report, owners, catalogue).value();
}

const SizeCandidate* Find(const FleetRightSizing& sizing, const std::string& kind) {
  for (const SizeCandidate& each : sizing.candidates) {
    if (each.kind == kind) return &each;
  }
  return nullptr;
}

TEST(RightSizingTest, MemoryAndPeakComputeMustSuffice) {
  // 20 to 30 % of 989 TFLOPS may need 297: an L40S has 362, an L4 only 121.
  const FleetRightSizing sizing = Judge({});
  const SizeCandidate* smaller = Find(sizing, "smaller_gpu");
  ASSERT_NE(smaller, nullptr);
  EXPECT_EQ(smaller->target, "L40S-48GB");
  EXPECT_EQ(smaller->saving_at_most, Money::Cents(250));
  EXPECT_EQ(smaller->team, "ml");
  EXPECT_EQ(smaller->job, "");  // two jobs: none is named
  EXPECT_EQ(Find(Judge({kH100, 60 * kGib}), "smaller_gpu")->target, "A100-80GB-SXM");
  EXPECT_EQ(Find(Judge({kH100, 20 * kGib, 9}), "smaller_gpu"), nullptr);
  EXPECT_EQ(Find(Judge({kH100, 79 * kGib}), "smaller_gpu"), nullptr);  // 10 % of headroom
}

TEST(RightSizingTest, ASliceMustHoldMemoryAndBusyTime) {
  // Up to 30 % busy needs 3 of 7 slices; 2 of 7 have 28.6 %.
  const FleetRightSizing sizing = Judge({});
  const SizeCandidate* slice = Find(sizing, "mig_slice");
  ASSERT_NE(slice, nullptr);
  EXPECT_EQ(slice->target, "3g");
  EXPECT_EQ(slice->saving_at_most, Money::Cents(200));  // two such slices share a board
  EXPECT_EQ(SliceFor(kH100, 8 * kGib, 80 * kGib, 0.1)->profile, "1g");
  EXPECT_EQ(SliceFor(kH100, 9 * kGib, 80 * kGib, 0.1)->profile, "2g");  // 9.9 GiB with headroom, 9.5 in a slice
  EXPECT_EQ(SliceFor(kH100, 8 * kGib, 80 * kGib, 0.2)->profile, "2g");
  EXPECT_FALSE(SliceFor(kH100, 8 * kGib, 80 * kGib, 0.5).has_value());
  EXPECT_FALSE(SliceFor("NVIDIA L40S", kGib, 48 * kGib, 0.1).has_value());
  EXPECT_EQ(SliceFor("NVIDIA A30", 5 * kGib, 24 * kGib, 0.2)->profile, "1g");
  EXPECT_EQ(Find(Judge({kH100, 8 * kGib, 1, false, 2'000'000}), "mig_slice"), nullptr);  // it talks over NVLink
}

// One observed hour says nothing of the week around it.
TEST(RightSizingTest, AGpuWithLittleDataIsNotJudged) {
  SizedCase one;
  one.counted_ms = 168 * kHourMs;
  const FleetRightSizing week = Judge(one);
  EXPECT_TRUE(week.candidates.empty());
  EXPECT_EQ(week.judged, 0);
  EXPECT_EQ(week.little_data, 1);
  one.counted_ms = kHourMs * 100 / 95;
  EXPECT_EQ(Judge(one).judged, 1);
  one.counted_ms = kHourMs * 100 / 94;
  EXPECT_EQ(Judge(one).little_data, 1);
}

TEST(RightSizingTest, WhatIsUnknownIsNeverACandidate) {
  const FleetRightSizing no_memory = Judge({kH100, std::nullopt});
  EXPECT_TRUE(no_memory.candidates.empty());
  EXPECT_EQ(no_memory.without_memory, 1);
  const FleetRightSizing instance = Judge({kH100, kGib, 1, true});
  EXPECT_TRUE(instance.candidates.empty());
  EXPECT_EQ(instance.instances, 1);
  const FleetRightSizing unused = Judge({kH100, kGib, 0});
  EXPECT_TRUE(unused.candidates.empty());
  EXPECT_EQ(unused.unused, 1);
  EXPECT_TRUE(Judge({"", kGib}).candidates.empty());
  EXPECT_TRUE(Judge({"Some GPU of 2031", kGib}).candidates.empty());
  const FleetRightSizing unpriced = Judge({kH100, 8 * kGib, 1, false, 0, false});
  EXPECT_EQ(Find(unpriced, "smaller_gpu"), nullptr);
  EXPECT_FALSE(Find(unpriced, "mig_slice")->saving_at_most.has_value());
}

}  // namespace
}  // namespace idleburn
