#include "plan/gpu_rate.h"

#include <gtest/gtest.h>

#include "telemetry/gpu_facts.h"

namespace idleburn {
namespace {

// data/gpus.csv says the same of the peaks, and no GPU has more usable memory than its label.
TEST(GpuRateTest, AgreesWithTheFacts) {
  for (const GpuFacts& facts : AllGpuFacts()) {
    const std::optional<GpuRate> rate = RateOf(facts.gpu);
    ASSERT_TRUE(rate) << facts.gpu;
    if (facts.half_tflops) {
      EXPECT_EQ(rate->half_tflops, static_cast<double>(*facts.half_tflops)) << facts.gpu;
    }
    if (facts.fp8_tflops) {
      EXPECT_EQ(rate->fp8_tflops, static_cast<double>(*facts.fp8_tflops)) << facts.gpu;
    }
    if (facts.memory_gb) {
      EXPECT_LE(rate->memory_gib, static_cast<double>(*facts.memory_gb)) << facts.gpu;
    }
    if (facts.memory_gb) {
      EXPECT_GE(rate->memory_gib, 0.9 * static_cast<double>(*facts.memory_gb)) << facts.gpu;
    }
  }
}

TEST(GpuRateTest, ByAnyName) {
  for (const char* name : {"NVIDIA H100 80GB HBM3", "h100_80gb", "H100-80GB-SXM", "DGX-H100", "H100 SXM5"}) {
    ASSERT_TRUE(RateOf(name)) << name;
    EXPECT_EQ(RateOf(name)->gpu, "H100-80GB-SXM") << name;
  }
  EXPECT_FALSE(RateOf("H1000"));
  EXPECT_FALSE(RateOf(""));
}

TEST(GpuRateTest, MeasuredCeilingsAreBelowThePeak) {
  for (const GpuRate& gpu : AllGpuRates()) {
    EXPECT_LT(CeilingFlops(gpu, MatmulFormat::kHalf), PeakFlops(gpu, MatmulFormat::kHalf)) << gpu.gpu;
    for (const MatmulFormat format : {MatmulFormat::kHalf, MatmulFormat::kFp8, MatmulFormat::kFp4}) {
      EXPECT_LE(SustainedFlops(gpu, format), CeilingFlops(gpu, format)) << gpu.gpu;
    }
    EXPECT_LE(PeakFlops(gpu, MatmulFormat::kHalf), PeakFlops(gpu, MatmulFormat::kFp8)) << gpu.gpu;
  }
  EXPECT_DOUBLE_EQ(CeilingFlops(*RateOf("rtx4090"), MatmulFormat::kHalf), 0.9 * 165e12);
}

}  // namespace
}  // namespace idleburn
