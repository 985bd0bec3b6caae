#include "plan/gpu_rate.h"

#include <gtest/gtest.h>

#include <cmath>

#include "telemetry/gpu_facts.h"

namespace idleburn {

// Names as people, clouds and drivers write them, and the table behind them. The rates are checked against
// data/gpus.csv, so that a slip in one of the two tables shows.

namespace {

TEST(GpuNameTest, HowManyAndWhich) {
  const std::tuple<const char*, double, const char*> names[] = {{"8xH100", 8, "H100"},
                                                                {"8x H100 80GB", 8, "H100 80GB"},
                                                                {" 8 x H100", 8, "H100"},
                                                                {"2x8xH100", 16, "H100"},
                                                                {"4*A100", 4, "A100"},
                                                                {"H100 x8", 8, "H100"},
                                                                {"A100 (80GB) x 4", 4, "A100 (80GB)"},
                                                                {"H100x8", 8, "H100"},
                                                                {"RTX 4090", 0, "RTX 4090"},
                                                                {"3090", 0, "3090"},
                                                                {"0xH100", 0, "0xH100"},
                                                                {"8x", 0, "8x"},
                                                                {"gtx8", 0, "gtx8"},
                                                                {"", 0, ""}};
  for (const auto& [text, count, gpu] : names) {
    EXPECT_EQ(CountedGpuOf(text).count, count) << text;
    EXPECT_EQ(CountedGpuOf(text).gpu, gpu) << text;
  }
}

TEST(GpuNameTest, WordsThatTellGpusApart) {
  const GpuWords words = GpuWordsOf("NVIDIA A100-SXM4-80GB");
  EXPECT_EQ(words.family, "a100");
  EXPECT_EQ(words.form, "sxm");
  EXPECT_EQ(words.memory_gb, 80);
  EXPECT_EQ(GpuWordsOf("A100 80 GB PCIe").memory_gb, 80);
  EXPECT_EQ(GpuWordsOf("A100 80 GB PCIe").form, "pcie");
  EXPECT_EQ(GpuWordsOf("RTX 6000 Ada").family, "6000ada");
  EXPECT_EQ(GpuWordsOf("").family, "");
}

// data/gpus.csv says the same of the peaks, in whole numbers, and no GPU has more usable memory than its label.
TEST(GpuRateTest, AgreesWithTheFacts) {
  for (const GpuFacts& facts : AllGpuFacts()) {
    const std::optional<GpuRate> rate = RateOf(facts.gpu);
    ASSERT_TRUE(rate) << facts.gpu;
    if (facts.half_tflops) {
      EXPECT_EQ(std::floor(rate->half_tflops), static_cast<double>(*facts.half_tflops)) << facts.gpu;
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

// As tables and clouds write them; what they contradict is another GPU, or none.
TEST(GpuRateTest, InOtherWords) {
  const std::pair<const char*, const char*> names[] = {{"H100-SXM5-80GB", "H100-80GB-SXM"},
                                                       {"H100 (80GB)", "H100-80GB-SXM"},
                                                       {"HGX H100", "H100-80GB-SXM"},
                                                       {"Nvidia A100 SXM 80 GB", "A100-80GB-SXM"},
                                                       {"A100-PCIE-40GB", "A100-40GB-PCIe"},
                                                       {"A100 PCIe", "A100-80GB-PCIe"},
                                                       {"H100 94GB", "H100-94GB-NVL"},
                                                       {"H200-SXM5-141GB", "H200-141GB"},
                                                       {"GB200 NVL72", "GB200"},
                                                       {"3090", "RTX-3090"},
                                                       {"RTX 3090 24GB", "RTX-3090"},
                                                       {"NVIDIA GeForce RTX 5090", "RTX-5090"},
                                                       {"NVIDIA H20", "H20-96GB"},
                                                       {"AMD Instinct MI250X", "MI250X-GCD"},
                                                       {"B200 192GB", "B200-180GB"}};
  for (const auto& [name, gpu] : names) {
    ASSERT_TRUE(RateOf(name)) << name;
    EXPECT_EQ(RateOf(name)->gpu, gpu) << name;
  }
  for (const char* none : {"A100 60GB", "RTX 4090 48GB", "H100 SXM 94GB", "RTX 3090 Super", "GPU", "80GB", "sxm"}) {
    EXPECT_FALSE(RateOf(none)) << none;
  }
}

// Every row is found by its own name in words too, so none hides another.
TEST(GpuRateTest, NoRowHidesAnother) {
  for (const GpuRate& gpu : AllGpuRates()) {
    EXPECT_EQ(RateOf(gpu.gpu)->gpu, gpu.gpu);
    EXPECT_EQ(RateOf("NVIDIA " + std::string(gpu.gpu) + " GPU")->gpu, gpu.gpu) << gpu.gpu;
    EXPECT_GT(gpu.watts, 0) << gpu.gpu;
    EXPECT_LT(PeakFlops(gpu, MatmulFormat::kWide), PeakFlops(gpu, MatmulFormat::kHalf)) << gpu.gpu;
  }
}

TEST(GpuRateTest, WhatItsPowerHoldsBack) {
  EXPECT_DOUBLE_EQ(SustainedFlops(*RateOf("rtx4090"), MatmulFormat::kHalf), 0.9 * 165e12);  // 0.37 TFLOP/s a watt
  EXPECT_DOUBLE_EQ(SustainedFlops(*RateOf("H20"), MatmulFormat::kHalf), 0.9 * 148e12);
  EXPECT_DOUBLE_EQ(SustainedFlops(*RateOf("L4"), MatmulFormat::kHalf), 0.75 * 121e12);  // 1.7
  EXPECT_DOUBLE_EQ(SustainedFlops(*RateOf("H100"), MatmulFormat::kHalf), 794.5e12);     // measured
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
