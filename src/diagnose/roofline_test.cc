#include "diagnose/roofline.h"

#include <gtest/gtest.h>

#include "support/device_traces.h"
#include "support/tiny_profile.h"

namespace idleburn {
namespace {

using test::TinyProfile;

std::optional<Roofline> RooflineOf(Profile profile, const std::string& model) {
  profile.devices.front().model = model;
  const LaunchIndex launches(profile);
  const DeviceTrace trace = test::TraceDevices(profile).back();
  return MeasureRoofline(profile, *trace.device, launches, trace.budget);
}

void Shaped(TinyProfile& tiny, std::string_view op, std::int64_t start, std::int64_t end, std::int64_t flops,
            std::int64_t bytes, bool single = false) {
  tiny.builder().AddShapedOp(op, {start * TinyProfile::kUs, end * TinyProfile::kUs}, tiny.builder().Thread("main"),
                             OpWork{flops, bytes, single, false});
}

// On an H100 SXM (989 TFLOP/s, 3.35 TB/s): a window of 1 ms could do 9.89e11 FLOPs.
TEST(RooflineTest, UtilizationOfAWindowByHand) {
  TinyProfile tiny;
  Shaped(tiny, "aten::mm", 0, 10, 197'800'000'000, 1'000'000);
  Shaped(tiny, "aten::mm", 20, 30, 197'800'000'000, 1'000'000);
  Shaped(tiny, "aten::bmm", 40, 50, 98'900'000'000, 98'900'000'000 / 100, true);
  tiny.Kernel(100, 400, 5).Kernel(400, 500, 22).Kernel(500, 600, 24).Kernel(700, 1000, 45).Kernel(1000, 1100, 60);
  const std::optional<Roofline> roofline = RooflineOf(tiny.Build(), "NVIDIA H100 80GB HBM3");
  ASSERT_TRUE(roofline);
  EXPECT_EQ(roofline->gpu, "H100-80GB-SXM");
  EXPECT_DOUBLE_EQ(roofline->flops, 494.5e9);
  EXPECT_DOUBLE_EQ(roofline->single_flops, 98.9e9);
  ASSERT_TRUE(roofline->Mfu());
  EXPECT_DOUBLE_EQ(*roofline->Mfu(), 0.5);
  ASSERT_TRUE(roofline->Ridge());
  EXPECT_NEAR(*roofline->Ridge(), 989e12 / 3.35e12, 1e-9);
  ASSERT_EQ(roofline->operators.size(), 2U);
  const OperatorRate& mm = roofline->operators[0];
  EXPECT_EQ(mm.calls, 2);
  EXPECT_EQ(mm.own_ns, 500'000);  // of three kernels: an operator's kernels count together
  EXPECT_DOUBLE_EQ(*mm.Rate(), 395.6e9 / 500e-6);
  EXPECT_FALSE(roofline->MemoryBound(mm));
  const OperatorRate& bmm = roofline->operators[1];
  EXPECT_DOUBLE_EQ(bmm.Intensity(), 100);
  EXPECT_TRUE(roofline->MemoryBound(bmm));
  EXPECT_DOUBLE_EQ(*roofline->Attainable(bmm), 100 * 3.35e12);
}

// Where a figure is missing, nothing is made up.
TEST(RooflineTest, IsAbsentWithoutShapesPeaksOrMemory) {
  EXPECT_FALSE(RooflineOf(TinyProfile().Kernel(0, 10, 0).Build(), "NVIDIA H100 80GB HBM3"));
  TinyProfile unknown;
  Shaped(unknown, "aten::mm", 0, 10, 1000, 10);
  const std::optional<Roofline> roofline = RooflineOf(unknown.Kernel(5, 10, 0).Build(), "Some GPU");
  ASSERT_TRUE(roofline);
  EXPECT_FALSE(roofline->Mfu());
  EXPECT_FALSE(roofline->Ridge());
  EXPECT_FALSE(roofline->MemoryBound(roofline->operators[0]));
  TinyProfile partly;
  Shaped(partly, "aten::mm", 0, 10, 1000, 10);
  partly.builder().AddShapedOp("aten::mm", {20, 30}, 0, std::nullopt);
  EXPECT_FALSE(RooflineOf(partly.Kernel(5, 10, 0).Build(), "NVIDIA H100 80GB HBM3")->Mfu()) << "FLOPs are incomplete";
}

// Of an operator whose kernels all lie outside of the steps nothing counts.
TEST(RooflineTest, CountsTheDecidingWindowOnly) {
  TinyProfile tiny;
  Shaped(tiny, "aten::mm", 0, 10, 1000, 10);
  Shaped(tiny, "aten::mm", 110, 120, 500, 10);
  tiny.Kernel(20, 50, 5).Kernel(130, 150, 112).Step(1, 100, 200);
  const std::optional<Roofline> roofline = RooflineOf(tiny.Build(), "NVIDIA H100 80GB HBM3");
  ASSERT_TRUE(roofline);
  EXPECT_DOUBLE_EQ(roofline->flops, 500);
  EXPECT_EQ(roofline->window_ns, 100'000);
}

}  // namespace
}  // namespace idleburn
